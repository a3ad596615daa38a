/** HTTP as raw bytes, for requests that no client would send. */
import { type IncomingHttpHeaders, request } from "node:http";
import { connect, type Socket } from "node:net";
import { createServer, type Methods, type ServerOptions, silentLog, stream } from "callwire";
import { type HttpServer, type ServeHttpOptions, serveHttp } from "callwire/http/node";
import { onTestFinished } from "vitest";
import { deferred } from "../contract/wire.ts";

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** As it was sent; it may be compressed. */
  readonly body: Buffer;
}

export const json = { "content-type": "application/json" };
export const add = '{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}';
export const sum = '{"jsonrpc":"2.0","result":5,"id":1}';

/** A server of methods on a free port, closed after the test. */
export async function serve(
  methods: Methods,
  options: ServeHttpOptions = {},
  serverOptions: ServerOptions = {},
): Promise<HttpServer> {
  const server = createServer(methods, { log: silentLog, ...serverOptions });
  const http = await serveHttp(server, { port: 0, ...options });
  onTestFinished(() => http.close());
  return http;
}

export function send(
  port: number,
  {
    method = "POST",
    path = "/rpc",
    headers = json,
    body,
  }: {
    method?: string;
    path?: string;
    headers?: Readonly<Record<string, string | readonly string[]>>;
    body?: string | Uint8Array;
  },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { port, host: "127.0.0.1", method, path, headers: headers as never, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const body = Buffer.concat(chunks);
          const { statusCode: status = 0, headers } = response;
          resolve({ status, headers, text: body.toString(), body });
        });
      },
    );
    outgoing.on("error", reject);
    outgoing.end(body);
  });
}

/** A socket that collects what it receives. */
export class RawClient {
  readonly socket: Socket;
  #text = "";
  #changed: () => void = () => {};
  #closed = false;

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.setEncoding("utf8");
    this.socket.on("data", (chunk: string) => {
      this.#text += chunk;
      this.#changed();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.#closed = true;
      this.#changed();
    });
    onTestFinished(() => {
      this.socket.destroy();
    });
  }

  write(text: string | Uint8Array): void {
    this.socket.write(text);
  }

  /** Everything so far, once it satisfies the condition. */
  async until(condition: (text: string) => boolean): Promise<string> {
    while (!condition(this.#text)) {
      if (this.#closed) throw new Error(`closed after: ${this.#text}`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return this.#text;
  }

  /** Everything, once the server has closed the connection. */
  async all(): Promise<string> {
    while (!this.#closed) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return this.#text;
  }
}

export function post(body: string, headers = ""): string {
  return (
    "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
    `Content-Length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`
  );
}

/** A stream without an end; the promise resolves when its reader is gone. */
export function endlessStream(): { readonly methods: Methods; readonly ended: Promise<void> } {
  const { promise, resolve } = deferred();
  const endless = stream({}, async function* () {
    try {
      for (let i = 0; ; i++) yield i;
    } finally {
      resolve();
    }
  });
  return { methods: { endless }, ended: promise };
}
