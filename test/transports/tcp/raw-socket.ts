import { connect, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/** A client without callwire: it sends bytes and keeps what arrives. */
export class RawSocket {
  readonly socket: Socket;
  /** Everything that arrived, once the peer has closed. */
  readonly closed: Promise<string>;
  readonly #chunks: Buffer[] = [];
  #lineEnds = 0;
  #changed: () => void = () => {};

  constructor(where: { port: number; localAddress?: string } | { path: string }) {
    this.socket = connect({ host: "127.0.0.1", ...where });
    this.socket.on("error", () => {});
    this.socket.on("data", (chunk) => {
      this.#chunks.push(chunk);
      for (const byte of chunk) if (byte === 10) this.#lineEnds++;
      this.#changed();
    });
    this.closed = new Promise((resolve) =>
      this.socket.on("close", () => {
        resolve(this.#text());
        this.#changed();
      }),
    );
    onTestFinished(() => void this.socket.destroy());
  }

  send(data: string | Uint8Array): this {
    this.socket.write(data);
    return this;
  }

  /** Waits until this many lines have arrived. */
  async lines(count: number): Promise<string[]> {
    while (this.#lineEnds < count) {
      if (this.socket.closed) throw new Error(`the socket closed after ${this.#lineEnds} lines`);
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
    return this.#text().split("\n").slice(0, -1);
  }

  #text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}
