import type { CallContext, Context } from "./context.ts";
import type { Log } from "./log.ts";
import type { ErrorObject, Reply, Request } from "./message.ts";
import type { Origin } from "./origin.ts";
import type { Service } from "./service.ts";

/** A message that was answered, refused or dropped; each entry of a batch is one. */
export interface Answered {
  /** As it was read; anything at all where it was refused, and undefined where it could not be read. */
  readonly message: unknown;
  readonly origin: Origin;
  /** Undefined where the message was refused before a handler could see it. */
  readonly context: Context | undefined;
  /** What the handler and its middleware came to, also for notifications. */
  readonly reply: Reply | undefined;
  /** What the caller was told, which a time-out or a limit may have made another. */
  readonly error: ErrorObject | undefined;
  /** Its place in a batch. */
  readonly entry: number | undefined;
  readonly durationMs: number;
  /** In characters. */
  readonly requestLength: number;
  /** In characters; 0 where nothing was sent. */
  readonly replyLength: number;
}

/** Hears what middleware cannot see. What it throws is logged once and changes nothing. */
export interface Watch {
  /** Set where durations are not looked at; where all watches say so, nobody reads the clock. */
  readonly untimed?: boolean;
  answered?(message: Answered): void;
  /** A stream began (1) or ended (-1). */
  stream?(context: Context, change: 1 | -1): void;
  /** An item of a stream was sent. */
  item?(context: Context): void;
  /** A connection opened (1) or is gone (-1). */
  connection?(transport: string, change: 1 | -1): void;
  /** So many more, or fewer, entries of batches wait for others to finish. */
  queue?(change: number): void;
  /** A request was refused by its head, before anything was read. */
  refused?(transport: string, status: number): void;
  /** Carries a call back to the peer; must hand on the request, or one like it, exactly once. */
  callBack?(request: Request, send: Send): Promise<Reply | undefined>;
}

export type Send = (request: Request) => Promise<Reply | undefined>;

/** Makes the watch of one service. */
export type Watcher = (service: Service) => Watch;

/** All the watches of one service. A service that nobody watches has none, and pays nothing. */
export class Watches implements Required<Omit<Watch, "untimed">> {
  /** Whether anybody wants to know how long calls take. */
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
    // Once per call, so without the closure of the others.
    for (let i = 0; i < this.#all.length; i++) {
      try {
        this.#all[i]?.answered?.(message);
      } catch (thrown) {
        this.#report(thrown);
      }
    }
  }

  stream(context: Context, change: 1 | -1): void {
    this.#tell((watch) => watch.stream?.(context, change));
  }

  item(context: Context): void {
    this.#tell((watch) => watch.item?.(context));
  }

  connection(transport: string, change: 1 | -1): void {
    this.#tell((watch) => watch.connection?.(transport, change));
  }

  queue(change: number): void {
    this.#tell((watch) => watch.queue?.(change));
  }

  refused(transport: string, status: number): void {
    this.#tell((watch) => watch.refused?.(transport, status));
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

  #tell(tell: (watch: Watch) => void): void {
    for (const watch of this.#all) {
      try {
        tell(watch);
      } catch (thrown) {
        this.#report(thrown);
      }
    }
  }

  #report(thrown: unknown): void {
    // Said once: what fails for one call mostly fails for all.
    if (!this.#failed) this.#log.error({ err: thrown }, "what watches the calls failed");
    this.#failed = true;
  }
}

/** One message on its way through, for those who watch. */
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

  // One is made per call, and fields that are private at run time take longer to make.
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

  /** Nobody wants the reply any more, and none is written. */
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
