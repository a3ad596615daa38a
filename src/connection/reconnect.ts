import { type Clock, systemClock } from "../protocol/clock.ts";
import { WireError } from "../protocol/errors.ts";
import { GatheredCalls } from "../protocol/gathered-calls.ts";
import { carriesAny, type Link, type Outgoing } from "../protocol/link.ts";
import { plainLog } from "../protocol/log.ts";
import type { Reply, Request } from "../protocol/message.ts";
import { maySendAgain, outcomeOf, replyAfter, reportedAs } from "../protocol/retry-rule.ts";
import { pause, settledOrTimeout } from "../protocol/waiting.ts";
import { unlessCancelled } from "./cancelled-wait.ts";
import type { Connection } from "./connection.ts";
import { ChangingStates } from "./link-states.ts";
import { connectionClosed, couldHaveRun, isDenied, isUnauthenticated } from "./lost-call.ts";
import type { ReconnectOptions } from "./reconnect-options.ts";
import { RetiredConnections } from "./retired-connections.ts";
import { NotTaken, stoppedBefore } from "./shutdown-notice.ts";

/** Opens a connection; `refused` says that the server refused the credentials of the last one. */
export type Open = (signal: AbortSignal, refused: boolean) => Promise<Connection>;

/**
 * A link that connects when it is first used and reconnects when the connection breaks. Calls that
 * were not sent, or that the server did not start, wait for the new connection; others fail with
 * `CONNECTION_LOST` unless they are idempotent. So only idempotent calls can run twice.
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
export function reconnecting(open: Open, options: ReconnectOptions | boolean = true): Link {
  return new ReconnectingLink(open, options === true ? {} : options);
}

class ReconnectingLink implements Link {
  readonly #open: Open;
  /** Aborts a connection attempt when the link closes. */
  readonly #closing = new AbortController();
  readonly #reconnects: boolean;
  readonly #options: ReconnectOptions;
  readonly #waits: Required<Pick<ReconnectOptions, "attempts" | "delayMs" | "maxDelayMs">>;
  readonly #clock: Clock;
  #connection: Promise<Connection> | undefined;
  /** What `#connection` resolved with, while it is open. */
  #current: Connection | undefined;
  #closed = false;
  /** Failed attempts in a row: refused, or lost before the first reply. */
  #failures = 0;
  /** Whether the next connection needs other credentials than the last. */
  #refused = false;
  /** Connections with renewed credentials that have not answered yet; if they are refused too, that is final. */
  readonly #renewed = new WeakSet<Connection>();
  /** Connections with old credentials. */
  readonly #retired: RetiredConnections;
  readonly states = new ChangingStates(plainLog);

  readonly carriesBytes = (): Promise<boolean> => this.#whileOpen(carriesAny);

  constructor(open: Open, options: ReconnectOptions | false) {
    this.#open = open;
    this.#reconnects = options !== false;
    this.#options = options === false ? {} : options;
    const { attempts = 10, delayMs = 100, maxDelayMs = 10_000 } = this.#options;
    this.#waits = { attempts, delayMs, maxDelayMs };
    this.#clock = this.#options.clock ?? systemClock;
    this.#retired = new RetiredConnections(this.#clock);
  }

  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    const used = this.#current;
    if (this.#closed || !used?.isOpen) return this.#send(request, outgoing);
    // Most calls need nothing of what follows, which would cost as much as sending them.
    const sent = used.send(request, outgoing);
    const inspect = (): Promise<Reply | undefined> =>
      this.#send(request, outgoing, undefined, used, sent);
    return sent.then((reply) => {
      if (reply?.error !== undefined) return inspect();
      this.#answered(used, reply);
      return reply;
    }, inspect);
  }

  /** `lost` is the failure of the previous attempt; `sent` is an attempt over `used` that was already made. */
  async #send(
    request: Request,
    outgoing: Outgoing,
    lost?: WireError,
    used?: Connection,
    sent?: Promise<Reply | undefined>,
  ): Promise<Reply | undefined> {
    let last = lost;
    let mayHaveRun = lost !== undefined && couldHaveRun(lost);
    let wanted = true;
    const carry = (connection: Connection): Promise<Reply | undefined> | undefined => {
      used = connection;
      // The caller may cancel when the gap is reported.
      if (wanted && last !== undefined && couldHaveRun(last)) outgoing.gap();
      return wanted ? connection.send(request, outgoing) : undefined;
    };
    const left = (): void => {
      wanted = false;
    };
    for (let refusals = 0; ; refusals++) {
      try {
        const reply = await ((refusals === 0 && sent) ||
          unlessCancelled(this.#whileOpen(carry, last), outgoing, left));
        if (this.#replaced(used, reply?.error) && !outgoing.upload?.begun) continue;
        this.#answered(used, reply);
        const refusal = this.#refusalIn(reply, outgoing, refusals);
        if (refusal === undefined) return replyAfter(mayHaveRun, reply);
        last = refusal;
        mayHaveRun ||= couldHaveRun(refusal);
        await unlessCancelled(this.#unlessGone(used, refusals), outgoing, left);
      } catch (error) {
        if (this.#replaced(used, error) && !outgoing.upload?.begun) continue;
        // The same failure again means that reconnecting was given up.
        if (error === last || !this.#mayRepeat(error, outgoing)) {
          // It may have run, even if the last failure was a failure to connect.
          throw mayHaveRun ? reportedAs("CONNECTION_LOST", error) : error;
        }
        last = error;
        mayHaveRun ||= couldHaveRun(error);
      }
    }
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    const calls = new GatheredCalls();
    const replies = requests.map((request, i) => calls.add(request, outgoing[i] as Outgoing));
    let used: Connection | undefined;
    const send = (connection: Connection): void => {
      used = connection;
      calls.send(connection);
    };
    this.#whileOpen(send).catch((error: unknown) => calls.fail(error));
    return requests.map(async (request, i) => {
      const own = outgoing[i] as Outgoing;
      let lost: WireError | undefined;
      try {
        const reply = await replies[i];
        if (this.#replaced(used, reply?.error)) return this.#send(request, own);
        this.#answered(used, reply);
        lost = this.#refusalIn(reply, own, 0);
        if (lost === undefined) return reply;
        await unlessCancelled(this.#unlessGone(used, 0), own);
      } catch (error) {
        if (this.#replaced(used, error)) return this.#send(request, own);
        if (!this.#mayRepeat(error, own)) throw error;
        lost = error;
      }
      return this.#send(request, own, lost);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.states.set("closed");
    this.#closing.abort(new WireError("CLOSED", "the link is closed"));
    const connection = await this.#connection?.catch(() => undefined);
    await Promise.all([connection?.close(), this.#retired.close()]);
  }

  /** The server answered, so that the connection works. */
  #answered(used: Connection | undefined, reply: Reply | undefined): void {
    if (reply === undefined) return;
    this.#failures = 0;
    if (used !== undefined) this.#renewed.delete(used);
  }

  /** Whether a connection with other credentials takes the place of one that was refused; a call may try again then. */
  #replaced(used: Connection | undefined, error: unknown): boolean {
    if (used === undefined || !this.#mayRenew(used, error)) return false;
    if (used !== this.#current) return true;
    this.#refused = true;
    this.#current = undefined;
    this.#connection = this.#connect(0);
    this.#connection.catch(() => {});
    this.#retired.add(used);
    return true;
  }

  #mayRenew(used: Connection, error: unknown): boolean {
    const { renews = false } = this.#options;
    const isAble = renews && this.#reconnects && !this.#closed && !this.#renewed.has(used);
    return isAble && isUnauthenticated(error);
  }

  #mayRepeat(error: unknown, outgoing: Outgoing): error is WireError {
    if (!this.#reconnects || this.#closed || outgoing.failed) return false;
    const outcome = outcomeOf(error, connectionClosed);
    // Any other failure to connect means that reconnecting was given up.
    if (outcome === "did-not-run" && !(error instanceof NotTaken)) return false;
    return maySendAgain(outcome, outgoing);
  }

  /** Why a call that a stopping server rejected is sent again; undefined makes the rejection its reply. */
  #refusalIn(
    reply: Reply | undefined,
    outgoing: Outgoing,
    refusals: number,
  ): WireError | undefined {
    const mayRetry = this.#reconnects && !this.#closed && refusals < this.#waits.attempts;
    if (!mayRetry || outgoing.goesElsewhere || outgoing.failed) return undefined;
    return reply?.error === undefined ? undefined : stoppedBefore(reply.error, outgoing);
  }

  /** Waits, or until the connection closes; a gateway keeps it open while the server behind it restarts. */
  #unlessGone(connection: Connection | undefined, refusals: number): Promise<void> {
    const { delayMs, maxDelayMs } = this.#waits;
    const waitMs = Math.min(maxDelayMs, delayMs * 2 ** refusals);
    return settledOrTimeout(this.#clock, waitMs, connection?.closed ?? Promise.resolve());
  }

  /** Calls `use` synchronously with an open connection; a call that was `lost` waits for a reconnect. */
  async #whileOpen<T>(
    use: (connection: Connection) => T | PromiseLike<T>,
    lost?: WireError,
  ): Promise<T> {
    for (;;) {
      this.#mustBeOpen();
      // After reconnecting was abandoned, a retrying call must not restart it.
      if (this.#connection === undefined && lost !== undefined) throw lost;
      if (this.#connection === undefined) {
        this.states.set("connecting");
        this.#connection = this.#connect(0);
      }
      const connection = await this.#connection;
      if (connection.isOpen) return use(connection);
      // Closing but not closed: polling it would starve the close event.
      await connection.closed;
    }
  }

  async #connect(mostFailures: number): Promise<Connection> {
    for (;;) {
      try {
        if (this.#failures > 1) await pause(this.#delay(), this.#clock, this.#closing.signal);
        this.#mustBeOpen();
        const refused = this.#refused;
        const connection = await this.#open(this.#closing.signal, refused);
        await this.#prepare(connection);
        if (refused) this.#renewed.add(connection);
        this.#refused = false;
        this.#watch(connection);
        return connection;
      } catch (error) {
        if (this.#options.renews && !this.#refused && isUnauthenticated(error)) {
          this.#refused = true;
          continue;
        }
        if (++this.#failures <= mostFailures && !this.#closed && !isDenied(error)) continue;
        this.#connection = undefined;
        this.#failures = 0;
        this.#refused = false;
        this.states.set("idle");
        // If `onConnect` failed, no call was sent.
        throw reportedAs("CONNECTION_FAILED", error);
      }
    }
  }

  /** Runs `onConnect`; closes the connection if that fails, so that it does not leak. */
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
    const { random = Math.random } = this.#options;
    const { delayMs, maxDelayMs } = this.#waits;
    return Math.min(maxDelayMs, delayMs * 2 ** (this.#failures - 2)) * (0.5 + random() / 2);
  }

  #watch(connection: Connection): void {
    const since = this.#clock.elapsed();
    this.#current = connection;
    this.states.set("open");
    void connection.closed.then((error) => {
      if (this.#current !== connection) return;
      this.#current = undefined;
      this.#connection = undefined;
      if (this.#closed) return;
      const lost = error ?? new WireError("CONNECTION_LOST", "the peer closed the connection");
      try {
        this.#options.onLost?.(lost);
      } catch (thrown) {
        plainLog.error({ err: thrown }, "onLost threw");
      }
      const { refusal } = connection;
      const renews = this.#mayRenew(connection, refusal);
      if (renews) this.#refused = true;
      if (this.#reconnects && (renews || !isDenied(refusal))) this.#reconnect(since);
      else this.states.set("idle");
    });
  }

  #reconnect(since: number): void {
    const { attempts, maxDelayMs } = this.#waits;
    // A process that crashes at start, or a server that hangs up at once, must not be tried forever.
    this.#failures = this.#clock.elapsed() - since >= maxDelayMs ? 1 : this.#failures + 1;
    if (this.#failures > attempts) {
      this.#failures = 0;
      this.states.set("idle");
      return;
    }
    this.states.set("reconnecting");
    // Reconnect without waiting for the next call: the server may want to call or notify this client.
    this.#connection = this.#connect(attempts);
    this.#connection.catch(() => {});
  }
}
