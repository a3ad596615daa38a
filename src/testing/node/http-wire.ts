import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { WireAbility } from "../conformance/case.ts";
import {
  type ExchangeAnswer,
  type ExchangeWire,
  isLoopback,
} from "../conformance/conformance-wire.ts";
import { ResponseReader } from "./response-reader.ts";

export interface HttpConformanceOptions {
  /** Sent with each request, such as a token. @default none */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * HTTP on a raw socket, which can send any bytes.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { httpConformanceWire } from "callwire/testing/node";
 *
 * const report = await runConformance(httpConformanceWire("http://127.0.0.1:8000/rpc"));
 * console.log(report.counts.MUST);
 * ```
 */
export function httpConformanceWire(
  address: string,
  options: HttpConformanceOptions = {},
): ExchangeWire {
  const url = new URL(address);
  const path = `${url.pathname}${url.search}`;
  const own = Object.fromEntries(
    Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  const abilities: WireAbility[] = ["http", "raw-http"];
  if (isLoopback(url.hostname)) abilities.push("loopback");
  const raw = (bytes: Uint8Array, answers: number, signal: AbortSignal) =>
    exchangeBytes(url, bytes, answers, signal);
  return {
    kind: "exchange",
    name: url.protocol === "https:" ? "HTTPS" : "HTTP",
    address,
    abilities: new Set(abilities),
    places: { host: url.host, path, headers: linesOf(own) },
    raw,
    async exchange({ verb, headers, body }, signal) {
      const length = { "content-length": `${Buffer.byteLength(body)}` };
      const all = { host: url.host, connection: "close", ...length, ...headers, ...own };
      const head = Buffer.from(`${verb} ${path} HTTP/1.1\r\n${linesOf(all)}\r\n`, "latin1");
      const [answer] = await raw(Buffer.concat([head, Buffer.from(body as string)]), 1, signal);
      if (answer === undefined) throw new Error("the connection was closed without an answer");
      return answer;
    },
  };
}

function linesOf(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}

function exchangeBytes(
  url: URL,
  bytes: Uint8Array,
  answers: number,
  signal: AbortSignal,
): Promise<readonly ExchangeAnswer[]> {
  return new Promise((resolve, reject) => {
    const socket = socketTo(url);
    const reader = new ResponseReader();
    const abort = (): void => {
      socket.destroy();
      // The server may keep the connection open after its response.
      if (reader.answers.length > 0) resolve(reader.answers);
      else reject(signal.reason);
    };
    signal.addEventListener("abort", abort);
    socket.on("data", (chunk: Buffer) => {
      try {
        reader.push(chunk);
        // A server that refused the request may keep the connection open to read the rest of it.
        if (reader.answers.length >= answers) socket.destroy();
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    let failure: Error | undefined;
    socket.on("error", (error) => {
      failure = error;
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      signal.removeEventListener("abort", abort);
      // A refusal during the upload is a response followed by a socket error.
      if (failure === undefined) reader.end();
      if (failure === undefined || reader.answers.length > 0) resolve(reader.answers);
      else reject(failure);
    });
    // Does not wait for the write: a refusal may arrive before all bytes are sent.
    socket.write(bytes);
    if (signal.aborted) abort();
  });
}

function socketTo({ protocol, hostname, port }: URL): Socket {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (protocol === "http:") return connect({ host, port: Number(port || 80) });
  return connectTls({ host, port: Number(port || 443), servername: host });
}
