import { type Clock, doneWithin, systemClock, type Timer } from "../protocol/clock.ts";
import { consoleLog } from "../protocol/console-log.ts";
import { WireError } from "../protocol/errors.ts";
import type { Link, Outgoing } from "../protocol/link.ts";
import type { Reply, Request } from "../protocol/message.ts";
import type { Connection } from "./connection.ts";
import { NotTaken, stoppedBefore } from "./farewell.ts";
import { giveUpOr } from "./given-up.ts";

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
  /** The clock of the waits between attempts, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
  /** Between 0 and 1; spreads clients that lost the same server. @default Math.random */
  readonly random?: () => number;
}

/**
 * A link that connects when it is first used and heals when the wire breaks. Calls that were not
 * sent, or that the other end says it did not take, wait for the new connection; others fail with
 * `CONNECTION_LOST`, unless they are idempotent. So nothing else runs twice.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { reconnecting } from "callwire/connection";
 * import { connectSocket } from "callwire/tcp";
 *
 * const link = reconnecting((signal) => connectSocket({ port: 9000, signal }), {
 *   attempts: 20,
 *   onConnect: (connection) => connection.call("login", { token: "d2hhdCBhIHRva2Vu" }),
 * });
 * await createClient<typeof methods>(link).api.echo("hi");
 * ```
 */
export function reconnecting(
  open: (signal: AbortSignal) => Promise<Connection>,
  options: ReconnectOptions | boolean = true,
): Link {
  return new ReconnectingLink(open, options === true ? {} : options);
}

class ReconnectingLink implements Link {
  readonly #open: (signal: AbortSignal) => Promise<Connection>;
  /** Aborts an attempt that is under way when the link closes. */
  readonly #closing = new AbortController();
  readonly #heals: boolean;
  readonly #options: ReconnectOptions;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  #wait: { timer: Timer; stop: () => void } | undefined;
  #closed = false;
  /** Attempts in a row that led to nothing: refused, or lost before anything was answered. */
  #failures = 0;

  constructor(
    open: (signal: AbortSignal) => Promise<Connection>,
    options: ReconnectOptions | false,
  ) {
    this.#open = open;
    this.#heals = options !== false;
    this.#options = options === false ? {} : options;
    this.#clock = this.#options.clock ?? systemClock;
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    return this.#send(request, outgoing, undefined);
  }

  /** `lost` is what a call met with that is sent again. */
  async #send(
    request: Request,
    outgoing: Outgoing,
    lost: WireError | undefined,
  ): Promise<Reply | undefined> {
    let last = lost;
    let mayHaveRun = hasTaken(lost);
    let wanted = true;
    let used: Connection | undefined;
    const carry = (connection: Connection): Promise<Reply | undefined> | undefined => {
      used = connection;
      // Its caller may give it up for that.
      if (wanted && hasTaken(last)) outgoing.gap();
      return wanted ? connection.send(request, outgoing) : undefined;
    };
    const left = (): void => {
      wanted = false;
    };
    for (let refusals = 0; ; refusals++) {
      try {
        const reply = await giveUpOr(this.#whileOpen(carry, last), outgoing, left);
        if (reply !== undefined) this.#failures = 0;
        const refusal = this.#refusalIn(reply, outgoing, refusals);
        if (refusal === undefined) return reply;
        last = refusal;
        mayHaveRun ||= hasTaken(refusal);
        await giveUpOr(this.#unlessGone(used, refusals), outgoing, left);
      } catch (error) {
        // Told the same once more where it is not healed.
        if (error === last || !this.#mayRepeat(error, outgoing)) {
          // It may have run, though the last thing that failed was to connect.
          throw mayHaveRun ? toldAs("CONNECTION_LOST", error) : error;
        }
        last = error;
        mayHaveRun ||= hasTaken(error);
      }
    }
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    const given = new Set<Outgoing>();
    let used: Connection | undefined;
    const sent = this.#whileOpen((connection) => {
      used = connection;
      const kept = outgoing.filter((call) => !given.has(call));
      for (const call of kept) call.cancel = undefined;
      const left = requests.filter((_, i) => !given.has(outgoing[i] as Outgoing));
      const replies = left.length === 0 ? [] : connection.sendBatch(left, kept);
      return new Map(kept.map((call, i) => [call, replies[i]]));
    });
    return requests.map(async (request, i) => {
      const own = outgoing[i] as Outgoing;
      let lost: WireError | undefined;
      try {
        await giveUpOr(sent, own, () => given.add(own));
        const reply = await (await sent).get(own);
        if (reply !== undefined) this.#failures = 0;
        lost = this.#refusalIn(reply, own, 0);
        if (lost === undefined) return reply;
        await giveUpOr(this.#unlessGone(used, 0), own);
      } catch (error) {
        if (!this.#mayRepeat(error, own)) throw error;
        lost = error;
      }
      return this.#send(request, own, lost);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#closing.abort(new WireError("CLOSED", "the link is closed"));
    this.#wait?.stop();
    const connection = await this.#connection?.catch(() => undefined);
    await connection?.close();
  }

  #mayRepeat(error: unknown, outgoing: Outgoing): error is WireError {
    if (!this.#heals || this.#closed || outgoing.failed || !(error instanceof WireError))
      return false;
    if (error instanceof NotTaken) return true;
    // Closed by whoever has the connection: to the call that was sent it is the same.
    return outgoing.idempotent && (error.code === "CONNECTION_LOST" || error.code === "CLOSED");
  }

  /** Why a call goes out again that a stopping server answered. Where there is no end of it, that is the answer. */
  #refusalIn(
    reply: Reply | undefined,
    outgoing: Outgoing,
    refusals: number,
  ): WireError | undefined {
    const { attempts = 10 } = this.#options;
    const heals = this.#heals && !this.#closed && refusals < attempts;
    if (!heals || outgoing.goesElsewhere || outgoing.failed) return undefined;
    return stoppedBefore(reply, outgoing);
  }

  /** Waits, unless the connection ends before. One that leads to a gateway stays, though the server behind it does not. */
  #unlessGone(connection: Connection | undefined, refusals: number): Promise<void> {
    const { delayMs = 100, maxDelayMs = 10_000 } = this.#options;
    const waitMs = Math.min(maxDelayMs, delayMs * 2 ** refusals);
    return doneWithin(this.#clock, waitMs, connection?.closed ?? Promise.resolve());
  }

  /** Uses the connection in the moment in which it is seen to be open; for a call that was `lost` before, one that has healed. */
  async #whileOpen<T>(
    use: (connection: Connection) => T | PromiseLike<T>,
    lost?: WireError,
  ): Promise<T> {
    for (;;) {
      this.#mustBeOpen();
      // Where healing was given up, a call that tried on and on would not let it be.
      if (this.#connection === undefined && lost !== undefined) throw lost;
      this.#connection ??= this.#connect(0);
      const connection = await this.#connection;
      if (connection.isOpen) return use(connection);
      // Shut, but not yet gone; asked again and again it would keep the news of its end from coming.
      await connection.closed;
    }
  }

  async #connect(mostFailures: number): Promise<Connection> {
    for (;;) {
      try {
        if (this.#failures > 1) await this.#pause(this.#delay());
        this.#mustBeOpen();
        const connection = await this.#open(this.#closing.signal);
        await this.#prepare(connection);
        this.#watch(connection);
        return connection;
      } catch (error) {
        if (++this.#failures <= mostFailures && !this.#closed) continue;
        this.#connection = undefined;
        this.#failures = 0;
        // Whatever `onConnect` lost, no call went out.
        throw toldAs("CONNECTION_FAILED", error);
      }
    }
  }

  /** Makes it ready for calls, or closes it, so that one that nobody uses is not left open. */
  async #prepare(connection: Connection): Promise<void> {
    const close = (): void => void connection.close();
    const { signal } = this.#closing;
    signal.addEventListener("abort", close);
    try {
      this.#mustBeOpen();
      const lost = connection.closed.then((cause) => {
        const sentence = "the connection was closed before it was ready";
        throw new WireError("CONNECTION_FAILED", sentence, { cause });
      });
      const prepared = async (): Promise<unknown> => this.#options.onConnect?.(connection);
      await Promise.race([prepared(), lost]);
    } catch (error) {
      await connection.close();
      this.#mustBeOpen();
      throw error;
    } finally {
      signal.removeEventListener("abort", close);
    }
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new WireError("CLOSED", "the link is closed");
  }

  #delay(): number {
    const { delayMs = 100, maxDelayMs = 10_000, random = Math.random } = this.#options;
    return Math.min(maxDelayMs, delayMs * 2 ** (this.#failures - 2)) * (0.5 + random() / 2);
  }

  #watch(connection: Connection): void {
    const since = this.#clock.elapsed();
    void connection.closed.then((error) => {
      this.#connection = undefined;
      if (this.#closed) return;
      const lost = error ?? new WireError("CONNECTION_LOST", "the other end closed the connection");
      try {
        this.#options.onLost?.(lost);
      } catch (thrown) {
        consoleLog.error({ err: thrown }, "a listener threw");
      }
      if (this.#heals) this.#heal(since);
    });
  }

  #heal(since: number): void {
    const { attempts = 10, maxDelayMs = 10_000 } = this.#options;
    // A child that crashes at its start, or a server that hangs up at once, must not be tried for ever.
    this.#failures = this.#clock.elapsed() - since >= maxDelayMs ? 1 : this.#failures + 1;
    if (this.#failures > attempts) {
      this.#failures = 0;
      return;
    }
    // Healing does not wait for the next call: the other end may have something to say.
    this.#connection = this.#connect(attempts);
    this.#connection.catch(() => {});
  }

  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = (): void => {
        timer.cancel();
        this.#wait = undefined;
        resolve();
      };
      // Like a connection that is open: who waits for it must not find the process gone.
      const timer = this.#clock.after(delayMs, stop, true);
      this.#wait = { timer, stop };
    });
  }
}

/** Whether the other end may have taken the call that met with this. */
function hasTaken(lost: WireError | undefined): boolean {
  return lost !== undefined && !(lost instanceof NotTaken);
}

/** The failure with what it means for the call, which is not what it meant where it happened. */
function toldAs(code: "CONNECTION_FAILED" | "CONNECTION_LOST", error: unknown): unknown {
  if (!(error instanceof WireError) || error.code === code) return error;
  const isOther = error.code === "CONNECTION_FAILED" || error.code === "CONNECTION_LOST";
  return isOther ? new WireError(code, error.message, { cause: error }) : error;
}
