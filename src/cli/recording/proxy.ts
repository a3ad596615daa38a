import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { clientTls } from "../client-tls.ts";
import { masked, oneLine } from "../failure.ts";
import { isOwnHost, listenOnLoopback } from "../host-names.ts";
import { isOwnPage } from "../playground-proxy.ts";
import type { Recorder } from "./recorder.ts";

/** Hop-by-hop headers, which are not forwarded. */
const ownHeaders = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Limit for a request; the server has its own, lower limit. */
const maxBodyBytes = 64 * 1024 * 1024;

export interface RecordingOptions {
  readonly target: URL;
  /** Sent with each request that does not have its own. */
  readonly headers: Readonly<Record<string, string>>;
  /** Limit for the first byte of a reply. */
  readonly timeoutMs: number;
  readonly recorder: Recorder;
  /** Called when the target stops or starts to answer. */
  readonly notify: (message: string) => void;
}

/** Forwards HTTP and WebSocket to a server, and records the messages. */
export class RecordingProxy {
  readonly #options: RecordingOptions;
  readonly #target: URL;
  readonly #recorder: Recorder;
  readonly #server: Server;
  readonly #sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  #connections = 0;
  #isAway = false;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#target = options.target;
    this.#recorder = options.recorder;
    this.#server = createServer((request, response) => {
      this.#exchange(request, response).catch(() => response.destroy());
    });
    this.#server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
  }

  async listen(port: number): Promise<string> {
    return `http://127.0.0.1:${await listenOnLoopback(this.#server, port)}${this.#target.pathname}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #exchange(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = this.#targetOf(request);
    if (url === undefined) {
      response.writeHead(403).end();
      return;
    }
    const connection = ++this.#connections;
    const body = await bodyOf(request);
    if (body === undefined) {
      response.writeHead(413).end();
      return;
    }
    this.#recorder.add({ connection, wire: "http", from: "client" }, body.toString());
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const { timeoutMs } = this.#options;
    const time = new AbortController();
    const late = setTimeout(() => {
      time.abort(new Error(`no reply within ${timeoutMs / 1000} s`));
    }, timeoutMs);
    let answer: Response;
    try {
      answer = await fetch(url, {
        method: request.method ?? "POST",
        headers: this.#headersOf(request),
        ...(body.length === 0 ? {} : { body: Uint8Array.from(body) }),
        signal: AbortSignal.any([gone.signal, time.signal]),
        redirect: "manual",
      });
    } catch (error) {
      if (gone.signal.aborted) return;
      this.#away(error);
      response.writeHead(502).end();
      return;
    } finally {
      clearTimeout(late);
    }
    this.#back();
    // `fetch` has decompressed the body.
    const headers = [...answer.headers].filter(([name]) => name !== "content-encoding");
    response.writeHead(answer.status, passedOn(headers).flat());
    const place = { connection, wire: "http", from: "server", status: answer.status } as const;
    const events = answer.headers.get("content-type")?.startsWith("text/event-stream")
      ? new EventReader((data) => this.#recorder.add(place, data))
      : undefined;
    const chunks: Uint8Array[] = [];
    for await (const chunk of answer.body ?? []) {
      if (events === undefined) chunks.push(chunk);
      else events.push(chunk);
      if (!response.write(chunk)) await once(response, "drain", { signal: gone.signal });
    }
    this.#recorder.add(place, Buffer.concat(chunks).toString());
    response.end();
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    const refuse = (status: string): void =>
      void socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n\r\n`);
    const url = this.#targetOf(request);
    if (url === undefined) {
      refuse("403 Forbidden");
      return;
    }
    const connection = ++this.#connections;
    url.protocol = url.protocol.replace("http", "ws");
    const headers = Object.fromEntries(
      this.#headersOf(request).filter(([name]) => !/^sec-websocket-/.test(name)),
    );
    const protocols = (request.headers["sec-websocket-protocol"] ?? "")
      .split(/\s*,\s*/)
      .filter((name) => name !== "");
    let server: WebSocket;
    try {
      server = new WebSocket(url, protocols, {
        ...clientTls(),
        headers,
        handshakeTimeout: this.#options.timeoutMs,
        perMessageDeflate: false,
      });
    } catch {
      // Such as duplicate subprotocols.
      refuse("400 Bad Request");
      return;
    }
    // Until both connections are open, a failure of one closes the other.
    const fail = (error: Error): void => {
      // A client that leaves ends the attempt too.
      if (!socket.destroyed) this.#away(error);
      refuse("502 Bad Gateway");
    };
    const leave = (): void => server.terminate();
    socket.once("close", leave);
    server.on("error", fail);
    server.once("unexpected-response", (_, answer: IncomingMessage) => {
      refuse(`${answer.statusCode} ${answer.statusMessage}`);
      answer.destroy();
    });
    server.once("open", () => {
      this.#back();
      this.#sockets.handleUpgrade(request, socket, head, (client) => {
        server.off("error", fail);
        socket.off("close", leave);
        this.#join(client, server, connection);
      });
    });
  }

  #away(error: unknown): void {
    if (this.#isAway) return;
    this.#isAway = true;
    this.#options.notify(`${masked(this.#target.href)} does not answer: ${reasonOf(error)}`);
  }

  #back(): void {
    if (!this.#isAway) return;
    this.#isAway = false;
    this.#options.notify(`${masked(this.#target.href)} answers again`);
  }

  /** The same path at the target; a request cannot choose another host. */
  #targetOf(request: IncomingMessage): URL | undefined {
    const { url = "" } = request;
    if (!url.startsWith("/") || !isOwnHost(request)) return undefined;
    // A page of another site must not use the credentials of this command.
    const hasHeaders = Object.keys(this.#options.headers).length > 0;
    if (hasHeaders && !isOwnPage(request)) return undefined;
    return new URL(this.#target.origin + url);
  }

  /** The headers of the caller, and those of this command that it did not send. */
  #headersOf({ headers }: IncomingMessage): [name: string, value: string][] {
    const own = Object.entries(this.#options.headers);
    return [
      ...own.filter(([name]) => headers[name.toLowerCase()] === undefined),
      ...passedOn(Object.entries(headers)),
    ];
  }

  #join(client: WebSocket, server: WebSocket, connection: number): void {
    const pass = (from: "client" | "server", source: WebSocket, target: WebSocket): void => {
      source.on("message", (data: Buffer, isBinary) => {
        this.#recorder.add({ connection, wire: "websocket", from }, data.toString());
        target.send(data, { binary: isBinary });
      });
      source.on("error", () => target.terminate());
      source.on("close", (code, reason) => {
        // 1005 and 1006 mean "no code", and must not be sent.
        if (code === 1005 || code === 1006) target.close();
        else target.close(code, reason);
      });
    };
    pass("client", client, server);
    pass("server", server, client);
  }
}

/** `fetch` keeps the reason in the cause of its error; several refused addresses have an empty message. */
function reasonOf(error: unknown): string {
  const { cause = error } = error as { cause?: unknown };
  const [first = cause] = (cause as { errors?: readonly unknown[] }).errors ?? [];
  return oneLine(first);
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function passedOn(
  headers: readonly (readonly [string, string | string[] | undefined])[],
): [name: string, value: string][] {
  return headers.flatMap(([name, value]) =>
    value === undefined || ownHeaders.has(name) ? [] : [[name, `${value}`]],
  );
}

class EventReader {
  readonly #found: (data: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";

  constructor(found: (data: string) => void) {
    this.#found = found;
  }

  push(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const data = /^data: ?(.*)$/.exec(line)?.[1];
      // [DONE] marks the end of a stream.
      if (data !== undefined && data !== "[DONE]") this.#found(data);
    }
  }
}
