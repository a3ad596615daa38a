import type { Server } from "node:http";
import type { Duplex } from "node:stream";
import { busy, unavailable } from "../http/refusal.ts";
import type { Clock } from "../protocol/clock.ts";
import { settledOrTimeout } from "../protocol/waiting.ts";
import type { Watches } from "../protocol/watch.ts";
import { rawRefusal, responseOn, writeRefusal } from "./raw-refusal.ts";

/** How long a client may take to send the request that is refused, or to close its side of a connection that the server has ended. */
const lingerMs = 250;

/** The connections that carry HTTP, which it reports to watches. */
export class HttpSockets {
  readonly #watch: Watches | undefined;
  readonly #open = new Set<Duplex>();

  constructor(
    server: Server,
    event: "connection" | "secureConnection",
    watch: Watches | undefined,
  ) {
    this.#watch = watch;
    server.on(event, (socket: Duplex) => this.#opened(socket));
  }

  /** It has closed, or was upgraded. */
  left(socket: Duplex): void {
    if (this.#open.delete(socket)) this.#watch?.connection("http", -1);
  }

  /**
   * Closes idle connections with the response that a request would get. A request may be on its way, and its
   * client could not distinguish a connection closed before it from one that broke while its call ran.
   */
  async dismissIdle(clock: Clock): Promise<void> {
    const idle = [...this.#open].filter((socket) => socket.writable && !responseOn(socket));
    const gone = idle.map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    for (const socket of idle) socket.end(rawRefusal(unavailable));
    await settledOrTimeout(clock, lingerMs, Promise.all(gone));
    for (const socket of idle) socket.destroy();
  }

  #opened(socket: Duplex): void {
    // A socket whose upgrade is ignored is emitted a second time.
    if (this.#open.has(socket)) return;
    this.#open.add(socket);
    this.#watch?.connection("http", 1);
    socket.once("close", () => this.left(socket));
  }
}

/** Connections over the limit, which are kept until their request is refused. */
export class RefusedSockets {
  /** This many get a response that the server is busy; further ones are dropped. */
  static readonly most = 100;
  readonly #clock: Clock;
  readonly #sockets = new Set<Duplex>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(socket: Duplex): void {
    if (this.#sockets.size >= RefusedSockets.most) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const late = this.#clock.after(lingerMs, () => {
      if (responseOn(socket) === undefined && socket.writable) writeRefusal(socket, busy);
    });
    socket.once("close", () => {
      late.cancel();
      this.#sockets.delete(socket);
    });
  }

  has(socket: Duplex): boolean {
    return this.#sockets.size > 0 && this.#sockets.has(socket);
  }
}
