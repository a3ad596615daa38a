import type { Channel, ChannelListener } from "../connection/channel.ts";

/** A process with an IPC channel to this one: `process` itself, or a child. */
export interface IpcProcess {
  send?(message: unknown, sent: (error: Error | null) => void): boolean;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect" | "exit", listener: () => void): unknown;
  off(event: "message", listener: (message: unknown) => void): unknown;
  disconnect?(): void;
  readonly connected: boolean;
}

/** Messages over Node's IPC, as objects; editors that run on Node connect to language servers in this way. */
export class IpcChannel implements Channel {
  readonly #process: IpcProcess;
  #listener: ChannelListener | undefined;
  #unsent = 0;
  #isOver = false;

  constructor(process: IpcProcess) {
    this.#process = process;
  }

  /** Node does not report how many bytes are buffered, so characters are counted instead. */
  get bufferedBytes(): number {
    return this.#unsent;
  }

  listen(listener: ChannelListener): void {
    this.#listener = listener;
    this.#process.on("message", this.#receive);
    this.#process.on("disconnect", () => this.#end());
    this.#process.on("exit", () => this.#end());
  }

  send(text: string): void {
    if (this.#isOver || !this.#process.connected) return;
    this.#unsent += text.length;
    this.#process.send?.(JSON.parse(text), (error) => {
      this.#unsent -= text.length;
      if (error !== null) this.#end(error);
      else if (this.#unsent === 0) this.#listener?.drain();
    });
  }

  close(): void {
    if (this.#process.connected) this.#process.disconnect?.();
    this.#end();
  }

  readonly #receive = (message: unknown): void => {
    if (this.#isOver) return;
    const text = jsonOf(message);
    if (text !== undefined) this.#listener?.message(text);
    else this.#listener?.fault({ kind: "unreadable", message: "the message nests too deeply" });
  };

  #end(error?: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#process.off("message", this.#receive);
    this.#listener?.end(error);
  }
}

/** Undefined if the message nests so deeply that serializing it overflows the stack; parsing it does not. */
function jsonOf(message: unknown): string | undefined {
  try {
    return JSON.stringify(message) ?? "";
  } catch {
    return undefined;
  }
}
