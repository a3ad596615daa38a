/// <reference lib="esnext.disposable" preserve="true" />

import { type Answer, Answerer, type AnswerSettings } from "./answer.ts";
import { type Clock, checkTimeout, systemClock } from "./clock.ts";
import { consoleLog } from "./console-log.ts";
import { defaultDrainMs, defaultMaxRunningBytes, defaultTimeoutMs } from "./defaults.ts";
import type { Undisclosed } from "./errors.ts";
import {
  type Admit,
  compose,
  composeAdmission,
  composeDisclosure,
  type Handle,
  isRefusal,
  type Middleware,
} from "./handle.ts";
import { type Limits, limitOf, limitsFrom, MessageLimits } from "./limits.ts";
import { type Log, safeLog } from "./log.ts";
import { type ErrorObject, failure, isThenable } from "./message.ts";
import { Origin } from "./origin.ts";
import { callsWhere, endSubscriptions } from "./origin-calls.ts";
import { Overload, type OverloadOptions } from "./overload.ts";
import type { Profile, Version } from "./parse.ts";
import type { SealMaker } from "./seal.ts";
import { ServerRunning } from "./server-running.ts";
import type { Service } from "./service.ts";
import { Shares } from "./shares.ts";
import { cutShort, internalError, methodNotFound } from "./standard-errors.ts";
import { ValueCodec } from "./value-codec.ts";
import type { AnyValueType } from "./value-types.ts";
import { settledOrTimeout } from "./waiting.ts";
import { Watches } from "./watch.ts";

const mebibyte = 1024 * 1024;

export interface HostOptions {
  /** Which versions are accepted, recognised per message. @default ["2.0"] */
  readonly versions?: readonly Version[];
  /**
   * How errors are sent in 1.0, which does not define their form. "object" has code, message and data. "string" has the
   * same object as JSON in a string, for clients such as Go's `net/rpc`, which close the connection at anything else.
   * @default "object"
   */
  readonly version1Errors?: "object" | "string";
  /**
   * "omit" accepts `"params": null` as no params; the specification allows arrays and objects only. @default "refuse"
   */
  readonly nullParams?: "refuse" | "omit";
  /** Timeout of calls that do not stream; stops handlers that hang. `Infinity` turns it off. @default 60000 */
  readonly timeoutMs?: number;
  /**
   * Most calls that run at the same time; more are refused at once, not queued. One address gets two thirds of it, and
   * less if others call too. Stops overload. @default 10000
   */
  readonly maxRunning?: number;
  /**
   * Most memory that all running calls hold, in bytes as estimated from their messages; parsed JSON may take 25 times
   * its length. More calls are refused, and above half of it connections are paused. @default 192 MiB
   */
  readonly maxRunningBytes?: number;
  /**
   * Most bytes that all connections buffer together: unread replies, and incomplete messages. Above it the
   * connections that buffer most are closed. @default 64 MiB
   */
  readonly maxWireBytes?: number;
  /**
   * When calls are refused because they arrive faster than they can run; the others are answered in time then. Without it,
   * each call of an overloaded process waits until its caller has given up. @default { maxDelayMs: 100 }
   */
  readonly overload?: OverloadOptions | false;
  /**
   * Bounds on single messages, batches, streams and connections; each stops one way to exhaust the server. @default
   * defaultLimits
   */
  readonly limits?: Partial<Limits>;
  /** Restrictions of a protocol on top, such as ids that are never null. @default plain JSON-RPC */
  readonly profile?: Profile;
  /** Where failures of handlers and wires are logged. @default warnings and errors to the console */
  readonly log?: Log;
  /** The clock of timeouts and deadlines, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
  /**
   * Types of values that JSON cannot express, for clients with `values: "rich"`; they need the same. `Date`, `bigint`,
   * `Map` and other types of the language are always known. @default none
   */
  readonly types?: readonly AnyValueType[];
  /** Signs and verifies each message on wires with a connection: `signedMessages` of `callwire/security/signing`. */
  readonly seal?: SealMaker;
}

export interface CloseOptions {
  /** How long running calls may take to finish before they are cancelled. @default 10000 */
  readonly drainMs?: number;
}

/**
 * A Handle that any number of wires can serve, with limits, running calls and a shutdown.
 * @example
 * ```ts
 * import { Host, success } from "callwire";
 * import { serveHttp } from "callwire/http/node";
 *
 * const host = new Host(({ method, params }) => success({ method, params }), { timeoutMs: 5_000 });
 * await serveHttp(host, { port: 8000 });
 * ```
 */
export class Host implements Service, AsyncDisposable {
  /** The whole chain: middleware, then the router. */
  readonly handle: Handle;
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  /** The calls in progress. */
  readonly running: ServerRunning;
  /** Decides about new connections; undefined if no middleware does. */
  readonly admit: Admit | undefined;
  /** The middleware; the first sees a call first. */
  readonly use: readonly Middleware[];
  readonly #settings: AnswerSettings;
  readonly seal: SealMaker | undefined;
  readonly watch: Watches | undefined;
  readonly #direct = new Origin();
  readonly #beforeDrain: (() => unknown)[] = [];
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  /**
   * `handle` is the whole chain; `use` is the middleware in it, which may also decide about connections. `longest` has
   * the methods with a `maxMessageBytes` of their own.
   */
  constructor(
    handle: Handle,
    options: HostOptions = {},
    use: readonly Middleware[] = [],
    longest: ReadonlyMap<string, number> = new Map(),
  ) {
    checkTimeout(options.timeoutMs);
    const versions = spoken(options.versions);
    const { version1Errors = "object" } = options;
    if (version1Errors !== "object" && version1Errors !== "string")
      throw new TypeError(`version1Errors must be "object" or "string", not "${version1Errors}"`);
    this.handle = handle;
    this.use = use;
    const limits = limitsFrom(options.limits);
    const messageLimits =
      longest.size === 0 ? undefined : new MessageLimits(limits.maxMessageBytes, longest);
    this.limits =
      messageLimits === undefined ? limits : { ...limits, maxMessageBytes: messageLimits.greatest };
    this.log = safeLog(options.log ?? consoleLog);
    const runningLimits = {
      maxRunning: limitOf("maxRunning", options.maxRunning, 10_000),
      maxRunningBytes: limitOf("maxRunningBytes", options.maxRunningBytes, defaultMaxRunningBytes),
      maxWireBytes: limitOf("maxWireBytes", options.maxWireBytes, 64 * mebibyte),
    };
    const clock = options.clock ?? systemClock;
    this.running = new ServerRunning(clock, runningLimits, new Shares());
    this.seal = options.seal;
    const { watchers = [] } = handle;
    this.watch =
      watchers.length === 0
        ? undefined
        : new Watches(
            watchers.map((watch) => watch(this)),
            this.log,
          );
    this.#settings = {
      watch: this.watch,
      limits: this.limits,
      messageLimits,
      log: this.log,
      versions,
      stringErrors: version1Errors === "string",
      allowNullParams: options.nullParams === "omit",
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      overload:
        options.overload === false ? undefined : new Overload(this.running.clock, options.overload),
      profile: options.profile,
      running: this.running,
      values: new ValueCodec(options.types, this.limits.maxRichValues),
      disclose: composeDisclosure(use),
    };
    this.answerer = new Answerer(handle, this.#settings);
    const admit = composeAdmission(use);
    this.admit = admit === undefined ? undefined : safeAdmission(admit, this.log);
  }

  /**
   * Answers one payload, for wires of your own: returns the reply as JSON, or undefined for none. Synchronous if the
   * handlers are, otherwise a promise.
   */
  receive(text: string, origin: Origin = this.#direct): Answer {
    return this.answerer.answer(text, origin);
  }

  beforeDrain(leave: () => unknown): void {
    this.#beforeDrain.push(leave);
  }

  /** Answers as if there were no methods, through the same middleware. */
  answerUnknown(text: string, origin: Origin): Answer {
    const answerer = new Answerer(
      compose(this.use, () => failure(methodNotFound)),
      this.#settings,
    );
    answerer.draining = this.answerer.draining;
    return answerer.answer(text, origin);
  }

  onClose(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Refuses new calls, lets running ones finish, then closes every wire that serves this host. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? defaultDrainMs);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    if (this.#beforeDrain.length > 0) await this.#leave(drainMs);
    this.answerer.draining = true;
    endSubscriptions(callsWhere(this.running, () => true));
    await new Promise<void>((resolve) => {
      // A handler that ignores its signal must not keep the server open.
      const late = this.running.clock.after(drainMs, () => {
        for (const call of this.running.list()) call.end?.(cutShort);
        resolve();
      });
      void this.running.idle().then(() => {
        late.cancel();
        resolve();
      });
    });
    // The reply to a batch is assembled a few promises after its last call has ended.
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    await Promise.all(this.#closers.map((close) => close()));
  }

  /** Lets wires redirect new callers first, but for no longer than calls may take to finish. */
  async #leave(drainMs: number): Promise<void> {
    const gone = Promise.allSettled(this.#beforeDrain.map((leave) => leave()));
    await settledOrTimeout(this.running.clock, drainMs, gone);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** An unknown version would make a server that silently answers nothing. */
function spoken(versions: readonly Version[] = ["2.0"]): ReadonlySet<Version> {
  const isKnown = Array.isArray(versions) && versions.length > 0;
  if (isKnown && versions.every((version) => version === "1.0" || version === "2.0")) {
    return new Set(versions);
  }
  throw new TypeError(
    `versions must be an array of "1.0" and "2.0", not ${JSON.stringify(versions)}`,
  );
}

/** Logs why a connection is refused. A check that throws admits no connection. */
function safeAdmission(admit: Admit, log: Log): Admit {
  const failed = (thrown: unknown) => {
    log.error({ err: thrown }, "the check of a new connection failed");
    return { ...internalError, status: 500 };
  };
  return (transport) => {
    const logged = (decision: Awaited<ReturnType<Admit>>): typeof decision => {
      if (isRefusal(decision)) {
        const { reason = decision.message } = decision as ErrorObject & Undisclosed;
        const { kind, remoteAddress } = transport;
        log.debug({ transport: kind, address: remoteAddress, reason }, "connection refused");
      }
      return decision;
    };
    try {
      const decision = admit(transport);
      return isThenable(decision)
        ? decision.then(logged).then(undefined, failed)
        : logged(decision);
    } catch (thrown) {
      return failed(thrown);
    }
  };
}
