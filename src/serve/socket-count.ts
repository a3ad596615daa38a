import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import type { Watches } from "../protocol/watch.ts";

/** Tells those who watch how many connections speak HTTP. */
export class SocketCount {
  readonly #watch: Watches;
  readonly #open = new WeakSet<Duplex>();

  constructor(server: Server, event: "connection" | "secureConnection", watch: Watches) {
    this.#watch = watch;
    server.on(event, (socket: Duplex) => this.#opened(socket));
  }

  /** It closed, or speaks something else from here on. */
  left(socket: Duplex): void {
    if (this.#open.delete(socket)) this.#watch.connection("http", -1);
  }

  #opened(socket: Duplex): void {
    // A socket whose upgrade is ignored is announced a second time.
    if (this.#open.has(socket)) return;
    this.#open.add(socket);
    this.#watch.connection("http", 1);
    socket.once("close", () => this.left(socket));
  }
}
