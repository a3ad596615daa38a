import type { Duplex } from "node:stream";
import { busy } from "../http/refusal.ts";
import type { Clock } from "../protocol/clock.ts";
import { responseOn, writeRefusal } from "./raw-refusal.ts";

/** How long a client may take to send the request that is refused. */
const lingerMs = 250;

/** Connections over the limit, which are kept until their request is refused. */
export class TurnedAway {
  /** This many get a response that the server is busy; further ones are dropped. */
  static readonly most = 100;
  readonly #clock: Clock;
  readonly #sockets = new Set<Duplex>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(socket: Duplex): void {
    if (this.#sockets.size >= TurnedAway.most) {
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
