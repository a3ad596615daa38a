import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { WireError } from "../protocol/errors.ts";
import { ItemQueue } from "../protocol/item-queue.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import type { Id, Request } from "../protocol/message.ts";
import { type Peer, type Transport, unreachablePeer } from "../protocol/origin.ts";
import type { TimedCall } from "../protocol/running.ts";

export interface CallOptions {
  /** Cancels the call, here and at the other end. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait; it travels, so that the other end stops too. @default the client's */
  readonly timeoutMs?: number | undefined;
  /** The call that this one is made for: its deadline and its cancellation hold here too. */
  readonly within?:
    | { readonly signal: AbortSignal; readonly deadline: number | undefined }
    | undefined;
  /** Hears how far the work is. Each report starts the time-out anew. */
  readonly onProgress?: ((value: unknown) => void) | undefined;
  /** Hears that the wire broke and this idempotent call was sent again: items may repeat, or be missing. */
  readonly onGap?: (() => void) | undefined;
  /** Sent as headers on wires that have them. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether this call may run twice, so that it may be tried again. @default false */
  readonly idempotent?: boolean | undefined;
}

const outbound: Transport = { kind: "outbound", headers: {}, remoteAddress: undefined };

/** Most items that wait for a reader; a producer that ignores credit must not fill memory. */
const mostItems = 65_536;

/** One call on its way: what its caller said, its time-out, and the items that came before its reply. */
export class OutgoingCall implements Outgoing, TimedCall, Context {
  readonly outgoing: this = this;
  readonly request: Request;
  readonly options: CallOptions;
  readonly log: Log;
  readonly timeoutMs: number | undefined;
  readonly idempotent: boolean;
  cancel: ((error: WireError) => void) | undefined = undefined;
  prev: TimedCall | undefined = undefined;
  next: TimedCall | undefined = undefined;
  dueAt: number | undefined = undefined;
  principal: undefined = undefined;
  /** Why the call was given up on this side. */
  failed: WireError | undefined = undefined;
  /** Whether an item came. */
  streamed = false;
  /** Whether somebody iterates over it, or will. */
  read = false;
  /** Whether its caller wants a result and nothing that comes before it. */
  awaited: boolean | undefined = undefined;
  onFail: ((error: WireError) => void) | undefined = undefined;
  readonly #clock: Clock;
  #items: ItemQueue | undefined;
  #fallbackSignal: AbortSignal | undefined;

  constructor(
    request: Request,
    options: CallOptions,
    timeoutMs: number | undefined,
    idempotent: boolean,
    log: Log,
    clock: Clock,
  ) {
    this.request = request;
    this.options = options;
    this.timeoutMs = timeoutMs;
    this.idempotent = idempotent;
    this.log = log;
    this.#clock = clock;
  }

  get id(): Id | undefined {
    return this.request.id;
  }

  get method(): string {
    return this.request.method;
  }

  get peer(): Peer {
    return unreachablePeer;
  }

  get transport(): Transport {
    return outbound;
  }

  /** May differ by a millisecond from read to read: hardly anybody asks, so that nothing is kept for it. */
  get deadline(): number | undefined {
    return this.dueAt && Math.round(this.dueAt + this.#clock.now() - this.#clock.elapsed());
  }

  get wantsProgress(): boolean {
    return this.options.onProgress !== undefined;
  }

  get headers(): Readonly<Record<string, string>> | undefined {
    return this.options.headers;
  }

  get signal(): AbortSignal {
    this.#fallbackSignal ??= this.options.signal ?? new AbortController().signal;
    return this.#fallbackSignal;
  }

  /** What arrived of a stream, kept until somebody reads it. */
  get items(): ItemQueue {
    this.#items ??= new ItemQueue();
    return this.#items;
  }

  get streams(): boolean {
    return this.#items !== undefined;
  }

  item(value: unknown, give: (count: number) => void): Promise<void> | undefined {
    // Nobody will read it, and the others of a batch must not wait for that.
    if (this.failed) return undefined;
    this.streamed = true;
    // Only a producer that does not heed credit comes here.
    if (this.items.size >= mostItems) {
      const sentence = `${this.method} sends more than ${mostItems} items ahead of its reader`;
      this.fail(new WireError("TOO_LARGE", sentence));
      return undefined;
    }
    const full = this.items.push(value, give);
    // The producer waits from here on, so that no result can come.
    if (full && this.awaited && !this.read) this.fail(this.mistaken());
    return full;
  }

  /** Items came where a result was wanted. */
  mistaken(): WireError {
    return new WireError("BAD_REPLY", `${this.method} streams; read it with client.stream`);
  }

  progress(value: unknown): void {
    if (this.failed) return;
    if (this.dueAt) this.dueAt = this.#clock.elapsed() + (this.timeoutMs as number);
    this.#tell(() => this.options.onProgress?.(value));
  }

  gap(): void {
    if (this.failed) return;
    const tell = (): void => this.#tell(() => this.options.onGap?.());
    if (this.#items) this.#items.restart(tell);
    else tell();
  }

  notify(): boolean {
    return false;
  }

  fail(error: WireError): void {
    if (this.failed) return;
    this.failed = error;
    this.cancel?.(error);
    // Whatever the link does, the caller hears of it now.
    this.onFail?.(error);
  }

  expire(): void {
    const hint = this.streams ? "; it streams, so iterate over it" : "";
    // What expires had a time-out.
    const seconds = (this.timeoutMs as number) / 1000;
    this.fail(new WireError("TIMEOUT", `${this.method} did not answer within ${seconds} s${hint}`));
  }

  /** A caller's listener that throws must not stop the messages that come after. */
  #tell(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.log.error({ err: thrown, method: this.method }, "a listener threw");
    }
  }
}
