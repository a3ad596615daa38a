/// <reference lib="esnext.disposable" preserve="true" />
import { type Answer, Answerer, type AnswerSettings } from "./answer.ts";
import { type Clock, doneWithin, systemClock } from "./clock.ts";
import { consoleLog } from "./console-log.ts";
import { cutShort, internalError, methodNotFound } from "./errors.ts";
import {
  type Admit,
  compose,
  composeAdmission,
  composeDisclosure,
  type Handle,
  type Middleware,
} from "./handle.ts";
import { type Limits, limitOf, limitsFrom } from "./limits.ts";
import { type Log, steadyLog } from "./log.ts";
import { failure, isThenable } from "./message.ts";
import { Origin } from "./origin.ts";
import type { Profile, Version } from "./parse.ts";
import { Running } from "./running.ts";
import type { SealMaker } from "./seal.ts";
import type { Service } from "./service.ts";
import { mustBeTimeout } from "./timeout.ts";
import { Watches } from "./watch.ts";

const mebibyte = 1024 * 1024;

export interface HostOptions {
  /** Which versions are spoken, recognised per message. @default ["2.0"] */
  readonly versions?: readonly Version[];
  /** "omit" reads `"params": null` as none; the specification knows arrays and objects only. @default "refuse" */
  readonly nullParams?: "refuse" | "omit";
  /** Longest run of a call that is no stream; a hanging handler must not hold its caller. @default 60000 */
  readonly timeoutMs?: number;
  /** Most calls that run at the same time; more are refused at once, not queued. @default 10000 */
  readonly maxRunning?: number;
  /**
   * Most memory that all calls in progress hold, in bytes as estimated from their messages; parsed JSON may take 25 times
   * its length. More are refused, and above half of it connections wait. @default 192 MiB
   */
  readonly maxRunningBytes?: number;
  /**
   * Most bytes that all connections buffer together: unread replies, and messages that have come in part. Above it those
   * that buffer most are closed. @default 96 MiB
   */
  readonly maxWireBytes?: number;
  /**
   * Bounds on single messages, batches, streams and connections; each stops one way to exhaust the server. @default
   * defaultLimits
   */
  readonly limits?: Partial<Limits>;
  /** What a protocol on top narrows, such as ids that are never null. @default plain JSON-RPC */
  readonly profile?: Profile;
  /** Where failures of handlers and wires are logged. @default warnings and errors to the console */
  readonly log?: Log;
  /** The clock of time-outs and deadlines, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
  /** Signs and checks each message on wires with a connection: `signedMessages` of `callwire/security/signing`. */
  readonly seal?: SealMaker;
}

export interface CloseOptions {
  /** How long running calls may take to finish before they are ended. @default 10000 */
  readonly drainMs?: number;
}

/**
 * A Handle that any number of wires can serve: it has limits, running calls, and an end.
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
  /** The whole chain: middleware, then what answers. */
  readonly handle: Handle;
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  /** The calls in progress. */
  readonly running: Running;
  /** Who opens a connection; undefined where no middleware asks. */
  readonly admit: Admit | undefined;
  /** What stands before the methods; the first sees a call first. */
  readonly use: readonly Middleware[];
  readonly #settings: AnswerSettings;
  readonly seal: SealMaker | undefined;
  readonly watch: Watches | undefined;
  readonly #direct = new Origin();
  readonly #leavers: (() => unknown)[] = [];
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  /** `handle` is the whole chain; `use` is the middleware in it, which may judge connections too. */
  constructor(handle: Handle, options: HostOptions = {}, use: readonly Middleware[] = []) {
    mustBeTimeout(options.timeoutMs);
    const versions = spoken(options.versions);
    this.handle = handle;
    this.use = use;
    this.limits = limitsFrom(options.limits);
    this.log = steadyLog(options.log ?? consoleLog);
    this.running = new Running(options.clock ?? systemClock, false, {
      maxRunningBytes: limitOf("maxRunningBytes", options.maxRunningBytes, 192 * mebibyte),
      maxWireBytes: limitOf("maxWireBytes", options.maxWireBytes, 96 * mebibyte),
    });
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
      log: this.log,
      versions,
      allowNullParams: options.nullParams === "omit",
      timeoutMs: options.timeoutMs ?? 60_000,
      maxRunning: limitOf("maxRunning", options.maxRunning, 10_000),
      profile: options.profile,
      running: this.running,
      disclose: composeDisclosure(use),
    };
    this.answerer = new Answerer(handle, this.#settings);
    const admit = composeAdmission(use);
    this.admit = admit === undefined ? undefined : steadyAdmission(admit, this.log);
  }

  /**
   * Answers one payload, so that any wire can be brought: the reply's text, or undefined for none.
   * It is synchronous when the handlers are, and a promise otherwise.
   */
  receive(text: string, origin: Origin = this.#direct): Answer {
    return this.answerer.answer(text, origin);
  }

  beforeDrain(leave: () => unknown): void {
    this.#leavers.push(leave);
  }

  /** Answers as if it had no methods, through the same middleware. */
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

  /** Refuses new calls, lets the running ones finish, then closes every wire that serves this. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? 10_000);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    if (this.#leavers.length > 0) await this.#leave(drainMs);
    this.answerer.draining = true;
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
    // The reply to a batch is put together some promises after its last call has left.
    await new Promise<void>((resolve) => setTimeout(resolve, 0));
    await Promise.all(this.#closers.map((close) => close()));
  }

  /** Lets wires send new callers elsewhere first, but no longer than calls may take to finish. */
  async #leave(drainMs: number): Promise<void> {
    const gone = Promise.allSettled(this.#leavers.map((leave) => leave()));
    await doneWithin(this.running.clock, drainMs, gone);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** A version that is none would make a server that answers nobody, and says nothing of it. */
function spoken(versions: readonly Version[] = ["2.0"]): ReadonlySet<Version> {
  const isKnown = Array.isArray(versions) && versions.length > 0;
  if (isKnown && versions.every((version) => version === "1.0" || version === "2.0")) {
    return new Set(versions);
  }
  throw new TypeError(`versions is a list of "1.0" and "2.0", not ${JSON.stringify(versions)}`);
}

/** A judge that fails lets nobody in, and is told of in the log. */
function steadyAdmission(admit: Admit, log: Log): Admit {
  const failed = (thrown: unknown) => {
    log.error({ err: thrown }, "judging a connection failed");
    return { ...internalError, status: 500 };
  };
  return (transport) => {
    try {
      const verdict = admit(transport);
      return isThenable(verdict) ? verdict.then((value) => value, failed) : verdict;
    } catch (thrown) {
      return failed(thrown);
    }
  };
}
