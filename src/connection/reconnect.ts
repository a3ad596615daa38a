import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";
import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import type { Connection } from "./connection.ts";

export interface ReconnectOptions {
  /** Most attempts to heal a lost connection before waiting calls fail. @default 10 */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles from then on. @default 100 */
  readonly delayMs?: number;
  /** The longest wait between attempts. @default 10000 */
  readonly maxDelayMs?: number;
  /** Runs on each new connection before any call goes out, such as a login. */
  readonly onConnect?: (connection: Connection) => unknown;
  /** Hears that a connection that worked was lost. */
  readonly onLost?: (error: Error) => void;
  readonly clock?: Clock;
  /** Between 0 and 1; spreads clients that lost the same server. @default Math.random */
  readonly random?: () => number;
}

/**
 * A link that connects when it is first used and heals when the wire breaks. Calls that were not
 * sent wait for the new connection; those that were sent fail with `CONNECTION_LOST`, unless they
 * are idempotent. So nothing runs twice.
 */
export function reconnecting(
  open: () => Promise<Connection>,
  options: ReconnectOptions | boolean = true,
): Link {
  return new ReconnectingLink(open, options === true ? {} : options);
}

class ReconnectingLink implements Link {
  readonly #open: () => Promise<Connection>;
  readonly #heals: boolean;
  readonly #options: ReconnectOptions;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  #wait: { timer: Timer; stop: () => void } | undefined;
  #closed = false;

  constructor(open: () => Promise<Connection>, options: ReconnectOptions | false) {
    this.#open = open;
    this.#heals = options !== false;
    this.#options = options === false ? {} : options;
    this.#clock = this.#options.clock ?? systemClock;
  }

  async send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    for (;;) {
      const connection = await this.#connected([outgoing]);
      try {
        return await connection.send(request, outgoing);
      } catch (error) {
        if (!this.#mayRepeat(error, outgoing)) throw error;
        outgoing.gap();
      }
    }
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    const sent = this.#connected(outgoing).then((connection) =>
      // Wrapped, because a promise of promises would settle with the first of them.
      ({ replies: connection.sendBatch(requests, outgoing) }),
    );
    return requests.map(async (request, i) => {
      const own = outgoing[i] as Outgoing;
      try {
        return await (await sent).replies[i];
      } catch (error) {
        if (!this.#mayRepeat(error, own)) throw error;
        outgoing[i]?.gap();
        return this.send(request, own);
      }
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wait?.stop();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close();
  }

  #mayRepeat(error: unknown, outgoing: Outgoing): boolean {
    if (!this.#heals || this.#closed || !(error instanceof WireError)) return false;
    // A connection that closed before the call was written did not bring it anywhere.
    if (error.code === "CLOSED") return true;
    return error.code === "CONNECTION_LOST" && outgoing.idempotent;
  }

  /** The connection to send on; a caller may give up while it is being made. */
  #connected(outgoing: readonly Outgoing[]): Promise<Connection> {
    if (this.#closed) return Promise.reject(new WireError("CLOSED", "the link is closed"));
    this.#connection ??= this.#connect(1);
    const connection = this.#connection;
    return new Promise((resolve, reject) => {
      for (const call of outgoing) call.cancel = reject;
      const settled = (): void => {
        for (const call of outgoing) if (call.cancel === reject) call.cancel = undefined;
      };
      connection.then(
        (made) => {
          settled();
          resolve(made);
        },
        (error: unknown) => {
          settled();
          reject(error);
        },
      );
    });
  }

  async #connect(attempts: number): Promise<Connection> {
    const { delayMs = 100, maxDelayMs = 10_000, random = Math.random } = this.#options;
    for (let attempt = 1; ; attempt++) {
      try {
        const connection = await this.#open();
        if (this.#closed) {
          await connection.close();
          throw new WireError("CLOSED", "the link is closed");
        }
        await this.#options.onConnect?.(connection);
        this.#watch(connection);
        return connection;
      } catch (error) {
        if (attempt >= attempts || this.#closed) {
          this.#connection = undefined;
          throw error;
        }
        const ceiling = Math.min(maxDelayMs, delayMs * 2 ** (attempt - 1));
        await this.#pause(ceiling * (0.5 + random() / 2));
      }
    }
  }

  #watch(connection: Connection): void {
    void connection.closed.then((error) => {
      this.#connection = undefined;
      if (this.#closed) return;
      const lost = error ?? new WireError("CONNECTION_LOST", "the other end closed the connection");
      this.#options.onLost?.(lost);
      if (!this.#heals) return;
      // Healing does not wait for the next call: the other end may have something to say.
      this.#connection = this.#connect(this.#options.attempts ?? 10);
      this.#connection.catch(() => {});
    });
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = (): void => {
        timer.cancel();
        this.#wait = undefined;
        resolve();
      };
      const timer = this.#clock.after(delayMs, stop);
      this.#wait = { timer, stop };
    });
  }
}
