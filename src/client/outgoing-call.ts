import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { WireError } from "../protocol/errors.ts";
import { ItemQueue } from "../protocol/item-queue.ts";
import type { Link, Outgoing, UploadProgress } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import type { Id, Request, TypedPaths } from "../protocol/message.ts";
import type { Peer, Transport } from "../protocol/origin.ts";
import { outbound } from "../protocol/outbound.ts";
import type { ReceivedBytes } from "../protocol/received-bytes.ts";
import type { TimedCall } from "../protocol/running.ts";
import type { UploadSender } from "../protocol/upload-sender.ts";
import type { RichCalls } from "./rich-calls.ts";

export interface CallOptions<Progress = unknown> {
  /** Cancels the call, also on the server. */
  readonly signal?: AbortSignal | undefined;
  /** How long to wait; sent with the call, so that the server stops too. @default the client's */
  readonly timeoutMs?: number | undefined;
  /** The call of a handler that this call is part of: it ends with that call's deadline or cancellation. */
  readonly within?:
    | { readonly signal: AbortSignal; readonly deadline: number | undefined }
    | undefined;
  /** Called with each progress report, which also restarts the timeout. */
  readonly onProgress?: ((value: Progress) => void) | undefined;
  /** Called while the request is sent, if it has files or byte streams. */
  readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Called when this idempotent call was sent again after a failure: items may repeat or be missing. */
  readonly onGap?: (() => void) | undefined;
  /** Sent as headers if the transport has headers. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether this call may run twice, so that it may be sent again. @default false */
  readonly idempotent?: boolean | undefined;
}

/** Further options for a call of a method with an `upload`. */
export interface UploadOptions<Item = unknown> {
  /**
   * The items to send while the call runs, such as a generator; they are taken as fast as the server reads them. When the
   * call is over, the iterator gets `return()`.
   */
  readonly upload: AsyncIterable<Item> | Iterable<Item>;
}

/** The options of calls whose types are not known. */
export type AnyCallOptions = CallOptions & Partial<UploadOptions>;

/** Most items that wait for a reader; stops a producer that ignores credit from filling memory. */
const mostItems = 65_536;

/** One call in progress: its options, its timeout, and the items that arrived before its reply. */
export class OutgoingCall implements Outgoing, TimedCall, Context {
  readonly outgoing: this = this;
  readonly request: Request;
  readonly options: AnyCallOptions;
  readonly log: Log;
  readonly timeoutMs: number | undefined;
  readonly idempotent: boolean;
  /** Set if the client has rich values; loaded when the call is sent. */
  rich: RichCalls | Promise<RichCalls> | undefined;
  /** The bytes that arrived with the reply. */
  bytes: ReceivedBytes | undefined = undefined;
  link: Link | undefined = undefined;
  /** Whether its link carries bytes beside the request. */
  carriesBytes: Link["carriesBytes"] = undefined;
  cancel: ((error: WireError) => void) | undefined = undefined;
  prev: TimedCall | undefined = undefined;
  next: TimedCall | undefined = undefined;
  dueAt: number | undefined = undefined;
  principal: undefined = undefined;
  /** Why the client gave up the call. */
  failed: WireError | undefined = undefined;
  /** Whether an item has arrived. */
  streamed = false;
  /** Whether the caller iterates over it. */
  read = false;
  /** Whether the caller wants only the result, no items or progress. */
  awaited: boolean | undefined = undefined;
  onFail: ((error: WireError) => void) | undefined = undefined;
  /** Sends what the caller uploads; loaded when the call is sent. */
  declare upload?: UploadSender;
  /** Missing: only the handlers of a server have a peer. */
  declare readonly peer: Peer;
  readonly #clock: Clock;
  #items: ItemQueue | undefined;
  #fallbackSignal: AbortSignal | undefined;

  constructor(
    request: Request,
    options: AnyCallOptions,
    timeoutMs: number | undefined,
    idempotent: boolean,
    log: Log,
    clock: Clock,
    rich?: RichCalls | Promise<RichCalls>,
  ) {
    this.request = request;
    this.options = options;
    this.timeoutMs = timeoutMs;
    this.idempotent = idempotent;
    this.log = log;
    this.#clock = clock;
    this.rich = rich;
  }

  get id(): Id | undefined {
    return this.request.id;
  }

  get method(): string {
    return this.request.method;
  }

  get transport(): Transport {
    return outbound;
  }

  /** Computed when it is read, as that is rare; two reads may differ by a millisecond. */
  get deadline(): number | undefined {
    return this.dueAt && Math.round(this.dueAt + this.#clock.now() - this.#clock.elapsed());
  }

  get headers(): Readonly<Record<string, string>> | undefined {
    return this.options.headers;
  }

  get signal(): AbortSignal {
    this.#fallbackSignal ??= this.options.signal ?? new AbortController().signal;
    return this.#fallbackSignal;
  }

  /** Items that have arrived and were not read yet. */
  get items(): ItemQueue {
    this.#items ??= new ItemQueue();
    return this.#items;
  }

  get streams(): boolean {
    return this.#items !== undefined;
  }

  item(
    json: unknown,
    give: (count: number) => void,
    types?: TypedPaths,
  ): Promise<void> | undefined {
    const value = this.#received(json, types);
    // It will not be read, and the other calls of a batch must not wait for it.
    if (this.failed) return undefined;
    this.streamed = true;
    // Only a producer that ignores credit gets here.
    if (this.items.size >= mostItems) {
      const sentence = `${this.method} sent more than ${mostItems} items ahead of its reader`;
      this.fail(new WireError("TOO_LARGE", sentence));
      return undefined;
    }
    const full = this.items.push(value, give);
    // The producer now waits for credit, so no result can come.
    if (full && this.awaited && !this.read) this.fail(this.mistaken());
    return full;
  }

  /** The error for items that arrived instead of a result. */
  mistaken(): WireError {
    return new WireError("BAD_REPLY", `${this.method} streams: use for await or client.stream`);
  }

  progress(json: unknown, types?: TypedPaths): void {
    const value = this.#received(json, types);
    if (this.failed) return;
    if (this.dueAt) this.dueAt = this.#clock.elapsed() + (this.timeoutMs as number);
    this.#runListener(() => this.options.onProgress?.(value));
  }

  gap(): void {
    if (this.failed) return;
    const report = (): void => this.#runListener(() => this.options.onGap?.());
    if (this.#items) this.#items.restart(report);
    else report();
  }

  notify(): boolean {
    return false;
  }

  fail(error: WireError): void {
    if (this.failed) return;
    this.failed = error;
    this.cancel?.(error);
    // Reject now, whatever the link does.
    this.onFail?.(error);
  }

  expire(): void {
    const hint = this.streams ? "; it streams: iterate over it" : "";
    const seconds = (this.timeoutMs as number) / 1000;
    this.fail(new WireError("TIMEOUT", `${this.method} did not answer within ${seconds} s${hint}`));
  }

  /** A value of the server, as the caller wants it; throws if its types do not fit. */
  decoded(json: unknown, types: TypedPaths | undefined): unknown {
    return types && this.rich ? (this.rich as RichCalls).decode(json, types, this.bytes) : json;
  }

  /** The same for what comes before the reply: it fails the call. */
  #received(json: unknown, types: TypedPaths | undefined): unknown {
    try {
      return this.decoded(json, types);
    } catch (error) {
      this.fail(error as WireError);
      return undefined;
    }
  }

  /** A listener that throws must not stop later messages. */
  #runListener(run: () => void): void {
    try {
      run();
    } catch (thrown) {
      this.log.error({ err: thrown, method: this.method }, "a call listener threw");
    }
  }
}

/** Names of methods, or a function of the name. */
export type Idempotent = readonly string[] | ((method: string) => boolean);

/** The option as a function; a single string must not match the names that it contains. */
export function isIdempotent(option: Idempotent = []): (method: string) => boolean {
  return typeof option === "function" ? option : (method) => [option].flat().includes(method);
}
