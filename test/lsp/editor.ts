/** A server and a raw peer of it, which can send anything and reads every message. */
import { silentLog } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import {
  type InitializeParams,
  type LspServerHandlers,
  type LspServerOptions,
  lspServer,
} from "callwire/lsp";

export interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

export class RawEditor {
  readonly received: Message[] = [];
  /** Whether the server closed the connection. */
  isClosed = false;
  readonly #channel: ReturnType<typeof memoryChannels>[0];
  readonly #waiting = new Set<() => void>();
  #ids = 0;

  constructor(handlers: LspServerHandlers, options: LspServerOptions = {}) {
    const [near, far] = memoryChannels();
    new Connection(far, {
      service: lspServer(handlers, { log: silentLog, ...options }),
      transport: { kind: "memory", headers: {}, remoteAddress: undefined },
    });
    this.#channel = near;
    near.listen({
      message: (text) => {
        this.received.push(JSON.parse(text));
        for (const wake of this.#waiting) wake();
      },
      fault: () => {},
      drain: () => {},
      end: () => {
        this.isClosed = true;
        for (const wake of this.#waiting) wake();
      },
    });
  }

  send(message: object): void {
    this.#channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  notify(method: string, params?: object | null): void {
    this.send(params === undefined ? { method } : { method, params });
  }

  async request(method: string, params?: object | null): Promise<Message> {
    const id = ++this.#ids;
    this.send(params === undefined ? { id, method } : { id, method, params });
    return this.next((message) => message.method === undefined && message.id === id);
  }

  /** The first message that matches, which may have arrived already; it is removed. */
  async next(fits: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const at = this.received.findIndex(fits);
      if (at >= 0) return this.received.splice(at, 1)[0] as Message;
      await this.#change();
    }
  }

  nextOf(method: string): Promise<Message> {
    return this.next((message) => message.method === method);
  }

  async closed(): Promise<void> {
    while (!this.isClosed) await this.#change();
  }

  async initialize(params: Partial<InitializeParams> = {}): Promise<Message> {
    const reply = await this.request("initialize", {
      processId: null,
      rootUri: null,
      capabilities: {},
      ...params,
    });
    this.notify("initialized", {});
    return reply;
  }

  open(text: string, uri = "file:///a"): void {
    this.notify("textDocument/didOpen", {
      textDocument: { uri, languageId: "plain", version: 1, text },
    });
  }

  /** Replaces everything between two characters of the first line. */
  change(
    version: number,
    [start, end]: readonly [number, number],
    text: string,
    uri = "file:///a",
  ): void {
    this.notify("textDocument/didChange", {
      textDocument: { uri, version },
      contentChanges: [
        { range: { start: { line: 0, character: start }, end: { line: 0, character: end } }, text },
      ],
    });
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#waiting.delete(wake);
        resolve();
      };
      this.#waiting.add(wake);
    });
  }
}

export const at = (line: number, character: number, uri = "file:///a") => ({
  textDocument: { uri },
  position: { line, character },
});
