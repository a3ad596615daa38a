import type { Channel, ChannelListener } from "../../connection/channel.ts";
import { listenTo, type Port, type PortListener } from "./port.ts";

/** Posted before a port closes, because browsers tell the other end nothing. */
const goodbye: null = null;

/** Text messages over a port. */
export class PortChannel implements Channel, PortListener {
  /** Ports do not tell how much of what was posted has been read; streams are held back by credit alone. */
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

  close(): void {
    if (this.#ended) return;
    this.#port.postMessage(goodbye);
    this.end();
  }

  data(value: unknown): void {
    if (this.#ended) return;
    if (typeof value === "string") this.#listener?.message(value);
    else if (value === goodbye) this.end();
    else this.unreadable();
  }

  unreadable(): void {
    if (this.#ended) return;
    this.#listener?.fault({ kind: "unreadable", message: "a message is JSON text in a string" });
  }

  end(error?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#listener?.end(error);
    if (this.#port.close !== undefined) this.#port.close();
    else void this.#port.terminate?.();
  }
}
