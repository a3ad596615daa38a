import type { CallContext, Context } from "./context.ts";
import type { Log } from "./log.ts";
import type { ErrorObject, Reply, Request } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { Service } from "./service.ts";

/** A message that was answered, refused or dropped; each entry of a batch is one. */
export interface Answered {
  /** The parsed message; any value if it was refused, and undefined if it could not be parsed. */
  readonly message: unknown;
  readonly origin: Origin;
  /** Undefined if the message was refused before it reached a handler. */
  readonly context: Context | undefined;
  /** The outcome of handler and middleware, also for notifications. */
  readonly reply: Reply | undefined;
  /** The error sent to the caller, which may differ because of a timeout or a limit. */
  readonly error: ErrorObject | undefined;
  /** Index in a batch. */
  readonly entry: number | undefined;
  readonly durationMs: number;
  /** In characters. */
  readonly requestLength: number;
  /** In characters; 0 if nothing was sent. */
  readonly replyLength: number;
}

/** Observes what middleware cannot see. Exceptions are logged once and change nothing. */
export interface Watch {
  /** True if durations are not used; if all watches say so, the clock is not read. */
  readonly untimed?: boolean;
  answered?(message: Answered): void;
  /** A stream began (1) or ended (-1). */
  stream?(context: Context, change: 1 | -1): void;
  /** An item of a stream was sent. */
  item?(context: Context): void;
  /** A connection opened (1) or closed (-1). */
  connection?(transport: string, change: 1 | -1): void;
  /** The number of batch entries that wait for others changed by this much. */
  queue?(change: number): void;
  /** A request was refused because of its headers, before its body was read. */
  refused?(transport: string, status: number): void;
  /** Sends a call back to the peer; must pass on the request, or one like it, exactly once. */
  callBack?(request: Request, send: Send): Promise<Reply | undefined>;
}

export type Send = (request: Request) => Promise<Reply | undefined>;

/** Makes the watch of one service. */
export type Watcher = (service: Service) => Watch;

/** All watches of one service. A service without watches pays nothing. */
export class Watches implements Required<Omit<Watch, "untimed">> {
  /** Whether any watch uses durations. */
  readonly timed: boolean;
  readonly #all: readonly Watch[];
  readonly #log: Log;
  #failed = false;

  constructor(all: readonly Watch[], log: Log) {
    this.#all = all;
    this.timed = all.some(({ untimed }) => untimed !== true);
    this.#log = log;
  }

  answered(message: Answered): void {
    // Runs once per call, so without the closure that the other methods use.
    for (const watch of this.#all) {
      try {
        watch.answered?.(message);
      } catch (thrown) {
        this.#report(thrown);
      }
    }
  }

  stream(context: Context, change: 1 | -1): void {
    this.#notify((watch) => watch.stream?.(context, change));
  }

  item(context: Context): void {
    this.#notify((watch) => watch.item?.(context));
  }

  connection(transport: string, change: 1 | -1): void {
    this.#notify((watch) => watch.connection?.(transport, change));
  }

  queue(change: number): void {
    this.#notify((watch) => watch.queue?.(change));
  }

  refused(transport: string, status: number): void {
    this.#notify((watch) => watch.refused?.(transport, status));
  }

  callBack(request: Request, send: Send): Promise<Reply | undefined> {
    const wrapped = this.#all.reduceRight<Send>(
      (next, watch) => (own) => watch.callBack?.(own, next) ?? next(own),
      send,
    );
    try {
      return wrapped(request);
    } catch (thrown) {
      return Promise.reject(thrown);
    }
  }

  #notify(report: (watch: Watch) => void): void {
    for (const watch of this.#all) {
      try {
        report(watch);
      } catch (thrown) {
        this.#report(thrown);
      }
    }
  }

  #report(thrown: unknown): void {
    // Logged once: what fails for one call usually fails for all.
    if (!this.#failed)
      this.#log.error({ err: thrown }, "a watch threw; its further errors are not logged");
    this.#failed = true;
  }
}

/** One message being answered, for the watches. */
export class WatchedMessage implements Answered {
  readonly message: unknown;
  readonly origin: Origin;
  readonly entry: number | undefined;
  readonly requestLength: number;
  context: CallContext | undefined;
  reply: Reply | undefined;
  error: ErrorObject | undefined;
  replyLength: number;
  durationMs: number;
  private readonly watches: Watches;
  private readonly since: number;

  // Created per call, and `#private` fields are slower to create.
  constructor(
    watches: Watches,
    message: unknown,
    origin: Origin,
    requestLength: number,
    entry: number | undefined,
  ) {
    this.watches = watches;
    this.message = message;
    this.origin = origin;
    this.requestLength = requestLength;
    this.entry = entry;
    this.context = undefined;
    this.reply = undefined;
    this.error = undefined;
    this.replyLength = 0;
    this.durationMs = 0;
    this.since = watches.timed ? performance.now() : 0;
  }

  /** The caller cancelled, and no reply is written. */
  drop(error: ErrorObject): void {
    this.error = error;
    this.end(undefined);
  }

  /** The reply is written, or there is none. */
  end(text: string | undefined): void {
    if (this.watches.timed) this.durationMs = performance.now() - this.since;
    this.replyLength = text === undefined ? 0 : text.length;
    this.watches.answered(this);
  }
}
