import type { Channel, ChannelListener } from "../../connection/channel.ts";
import type { Transport } from "../../protocol/origin.ts";

/** Posted before a port closes, because browsers do not report that to the peer. */
const goodbye: null = null;

/** Messages over a port. */
export class PortChannel implements Channel, PortListener {
  /** Ports do not report how much was read; streams are limited by credit only. */
  readonly bufferedBytes = 0;
  readonly #port: Port;
  #listener: ChannelListener | undefined;
  #ended = false;

  constructor(port: Port) {
    this.#port = port;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    listenTo(this.#port, this);
  }

  send(text: string): void {
    if (!this.#ended) this.#port.postMessage(text);
  }

  sendBytes(frame: Uint8Array): void {
    if (!this.#ended) this.#port.postMessage(frame);
  }

  close(): void {
    if (this.#ended) return;
    this.#port.postMessage(goodbye);
    this.end();
  }

  data(value: unknown): void {
    if (this.#ended) return;
    if (typeof value === "string") this.#listener?.message(value);
    else if (value === goodbye) this.end();
    else if (value instanceof Uint8Array && this.#listener?.bytes !== undefined)
      this.#listener.bytes(value);
    else this.unreadable();
  }

  unreadable(): void {
    if (this.#ended) return;
    this.#listener?.fault({ kind: "unreadable", message: "a message must be a string of JSON" });
  }

  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener?.end(error);
    if (this.#port.close !== undefined) this.#port.close();
    else void this.#port.terminate?.();
  }
}

export const transport: Transport = { kind: "worker", headers: {}, remoteAddress: undefined };

/**
 * Anything that passes messages: a MessagePort, a Worker, the scope of a worker, a BroadcastChannel with one peer, in
 * browsers and in Node's `worker_threads`.
 */
export interface Port {
  postMessage(message: unknown): void;
  /** Browsers, Deno, Bun. */
  addEventListener?(type: string, listener: (event: unknown) => void): void;
  /** Node. */
  on?(type: string, listener: (value: unknown) => void): unknown;
  /** A MessagePort delivers nothing until it is started. */
  start?(): void;
  close?(): void;
  /** Of a Worker. */
  terminate?(): unknown;
}

export interface PortListener {
  /** The posted value, a string or not. */
  data(value: unknown): void;
  unreadable(): void;
  end(error?: Error): void;
}

/** Ports are either Node event emitters or event targets. */
function listenTo(port: Port, listener: PortListener): void {
  if (port.on !== undefined) listenInNode(port, listener);
  else if (port.addEventListener !== undefined) listenInBrowser(port, listener);
  else throw new TypeError("a port needs addEventListener or on");
  port.start?.();
}

function listenInNode(port: Port, listener: PortListener): void {
  const on = (type: string, run: (value: unknown) => void): unknown => port.on?.(type, run);
  on("message", (value) => listener.data(value));
  on("messageerror", () => listener.unreadable());
  on("error", (error) => listener.end(error as Error));
  on("exit", (code) => listener.end(new Error(`the worker exited with code ${code}`)));
  on("close", () => listener.end());
}

function listenInBrowser(port: Port, listener: PortListener): void {
  const on = (type: string, run: (event: { data?: unknown; message?: string }) => void): void =>
    port.addEventListener?.(type, (event) => run(event as object));
  on("message", ({ data }) => listener.data(data));
  on("messageerror", () => listener.unreadable());
  // A worker whose script does not load reports it here only. Inside of a worker, though, the same event reports errors
  // that are not the connection's.
  if (port.terminate !== undefined) {
    on("error", ({ message }) => listener.end(new Error(message ?? "the worker failed")));
  }
  on("close", () => listener.end());
}
