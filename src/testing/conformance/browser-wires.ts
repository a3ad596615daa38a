import { chunksOf, type HeaderRecord, readText } from "../../http/client-exchange.ts";
import type { ExchangeWire, LineWire } from "./conformance-wire.ts";

export interface FetchWireOptions {
  /** Sent with each request, such as a token. @default none */
  readonly headers?: HeaderRecord;
  /** Replaces the global `fetch`. @default globalThis.fetch */
  readonly fetch?: typeof fetch;
}

const longestAnswer = 64 * 1024 * 1024;

/**
 * HTTP over `fetch`, for browsers too. Cases that need a raw socket are skipped.
 * @example
 * ```ts
 * import { fetchConformanceWire, runConformance } from "callwire/testing";
 *
 * const wire = fetchConformanceWire("http://127.0.0.1:8000/rpc", { headers: { "x-api-key": "…" } });
 * console.log((await runConformance(wire)).ok);
 * ```
 */
export function fetchConformanceWire(url: string, options: FetchWireOptions = {}): ExchangeWire {
  const { fetch: send = globalThis.fetch, headers: own = {} } = options;
  return {
    kind: "exchange",
    name: "HTTP",
    address: url,
    abilities: new Set(["http"]),
    async exchange({ verb, headers, body }, signal) {
      const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
      const response = await send(url, {
        method: verb,
        // With a string, fetch would add a Content-Type by itself.
        ...(verb === "GET" ? undefined : { body: new Uint8Array(bytes) }),
        headers: { ...headers, ...own },
        redirect: "manual",
        signal,
      });
      const text = await readText(chunksOf(response.body), longestAnswer);
      return { status: response.status, headers: Object.fromEntries(response.headers), body: text };
    },
  };
}

/**
 * The platform's WebSocket, for browsers too. Cases that need special frames are skipped.
 * @example
 * ```ts
 * import { runConformance, webSocketConformanceWire } from "callwire/testing";
 *
 * const report = await runConformance(webSocketConformanceWire("ws://127.0.0.1:8000/rpc/ws"));
 * console.log(report.ok);
 * ```
 */
export function webSocketConformanceWire(url: string): LineWire {
  return {
    kind: "line",
    name: "WebSocket",
    address: url,
    abilities: new Set(["websocket"]),
    open: (listener, signal) =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(url);
        const abort = (): void => {
          socket.close();
          reject(signal.reason);
        };
        signal.addEventListener("abort", abort);
        socket.onmessage = ({ data }) => listener.message(String(data));
        socket.onclose = ({ code }) => {
          signal.removeEventListener("abort", abort);
          reject(new Error(`the WebSocket was closed with ${code}`));
          listener.end(`the WebSocket was closed with ${code}`);
        };
        const send = (data: string | Uint8Array): void => {
          if (socket.readyState === socket.OPEN) socket.send(data as Uint8Array<ArrayBuffer>);
        };
        socket.onopen = () => {
          signal.removeEventListener("abort", abort);
          resolve({
            send,
            frame: (text) => send(new TextEncoder().encode(text)),
            close: () => socket.close(),
          });
        };
      }),
  };
}
