import type { Channel, ChannelListener } from "../../src/connection/channel.ts";

/** The other side of a connection, which a target plays. */
export class Peer implements Channel {
  /** What the connection sent. */
  readonly sent: string[] = [];
  readonly bufferedBytes = 0;
  /** Called with each message that the connection sends, in a later turn. */
  onMessage: ((text: string) => void) | undefined;
  #listener: ChannelListener | undefined;
  #isEnded = false;

  listen(listener: ChannelListener): void {
    this.#listener = listener;
  }

  send(text: string): void {
    this.sent.push(text);
    if (this.onMessage !== undefined) queueMicrotask(() => this.onMessage?.(text));
  }

  close(): void {
    queueMicrotask(() => this.end());
  }

  /** Delivers this message to the connection. */
  say(text: string): void {
    if (!this.#isEnded) this.#listener?.message(text);
  }

  /** Delivers bytes that are not a message to the connection. */
  garble(): void {
    if (!this.#isEnded) this.#listener?.fault({ kind: "unreadable", message: "not UTF-8" });
  }

  /** Breaks or closes the wire. */
  end(error?: Error): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#listener?.end(error);
  }
}

/** Lets promises settle; no chain of them is longer than this. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 30; i++) await undefined;
}
