/// <reference lib="esnext.disposable" preserve="true" />
import { type Answer, Answerer } from "../protocol/answer.ts";
import { type Clock, systemClock } from "../protocol/clock.ts";
import { shuttingDown } from "../protocol/errors.ts";
import { compose, type Handle, type Middleware } from "../protocol/handle.ts";
import { type Limits, limitsFrom } from "../protocol/limits.ts";
import { consoleLog, type Log, steadyLog } from "../protocol/log.ts";
import { Origin } from "../protocol/origin.ts";
import type { Version } from "../protocol/parse.ts";
import { Running } from "../protocol/running.ts";
import type { Service } from "../protocol/service.ts";
import { type DiscoverOptions, discovery } from "./discover.ts";
import type { Method, Methods } from "./method.ts";
import { createRouter, type MethodTable, tableOf } from "./router.ts";

export interface ServerOptions {
  /** Wraps every call; the first sees it first. */
  readonly use?: readonly Middleware[];
  /** Joins the names of nested groups. @default "/" */
  readonly separator?: string;
  /** Which versions are spoken, recognised per message. @default ["2.0"] */
  readonly versions?: readonly Version[];
  /** "omit" reads `"params": null` as none; the specification knows arrays and objects only. @default "refuse" */
  readonly nullParams?: "refuse" | "omit";
  /** Longest run of a call that is no stream; a hanging handler must not hold its caller. @default 60000 */
  readonly timeoutMs?: number;
  /** Most calls that run at the same time; more are refused at once, not queued. @default 10000 */
  readonly maxRunning?: number;
  /** What `rpc.discover` answers, an OpenRPC document; false leaves it out. @default on */
  readonly discover?: false | DiscoverOptions;
  readonly limits?: Partial<Limits>;
  /** @default warnings and errors to the console */
  readonly log?: Log;
  readonly clock?: Clock;
}

export interface CloseOptions {
  /** How long running calls may take to finish before they are ended. @default 10000 */
  readonly drainMs?: number;
}

/** Methods that any number of wires can serve. */
export class Server<M extends Methods = Methods> implements Service, AsyncDisposable {
  readonly methods: MethodTable;
  /** The whole chain: middleware, then the router. */
  readonly handle: Handle;
  readonly answerer: Answerer;
  readonly limits: Limits;
  readonly log: Log;
  /** For types only: `createClient<typeof server.api>(…)`. */
  declare readonly api: M;
  /** The calls in progress. */
  readonly running: Running;
  readonly #direct = new Origin();
  readonly #closers: (() => unknown)[] = [];
  #closing: Promise<void> | undefined;

  constructor(methods: M, options: ServerOptions = {}) {
    const clock = options.clock ?? systemClock;
    this.limits = limitsFrom(options.limits);
    this.log = steadyLog(options.log ?? consoleLog);
    this.methods = tableOf(methods, options.separator ?? "/");
    const system = systemMethods(this.methods, options);
    const { use = [] } = options;
    this.handle = compose(use, createRouter(this.methods, system, use.length === 0));
    this.running = new Running(clock);
    this.answerer = new Answerer(this.handle, {
      limits: this.limits,
      log: this.log,
      versions: new Set(options.versions ?? ["2.0"]),
      allowNullParams: options.nullParams === "omit",
      timeoutMs: options.timeoutMs ?? 60_000,
      maxRunning: options.maxRunning ?? 10_000,
      running: this.running,
    });
  }

  /**
   * Answers one payload, so that any wire can be brought: the reply's text, or undefined for none.
   * It is synchronous when the handlers are, and a promise otherwise.
   */
  receive(text: string, origin: Origin = this.#direct): Answer {
    return this.answerer.answer(text, origin);
  }

  isStream(method: string): boolean {
    return this.methods.get(method)?.kind === "stream";
  }

  onClose(close: () => unknown): void {
    this.#closers.push(close);
  }

  /** Refuses new calls, lets the running ones finish, then closes every wire that serves this server. */
  close(options: CloseOptions = {}): Promise<void> {
    this.#closing ??= this.#close(options.drainMs ?? 10_000);
    return this.#closing;
  }

  async #close(drainMs: number): Promise<void> {
    this.answerer.draining = true;
    await new Promise<void>((resolve) => {
      // A handler that ignores its signal must not keep the server open.
      const late = this.running.clock.after(drainMs, () => {
        for (const call of this.running.list()) call.end(shuttingDown);
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

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function systemMethods(methods: MethodTable, options: ServerOptions): ReadonlyMap<string, Method> {
  const { discover = {}, use = [] } = options;
  if (discover === false) return new Map();
  return new Map([["rpc.discover", discovery(methods, discover, use)]]);
}

/** Makes a server of methods; a wire such as `serveHttp` or `receive` brings it calls. */
export function createServer<M extends Methods>(methods: M, options?: ServerOptions): Server<M> {
  return new Server(methods, options);
}
