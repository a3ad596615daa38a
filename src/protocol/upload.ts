import { BriefMap } from "./brief-map.ts";
import type { CallContext, Context } from "./context.ts";
import { membersOf } from "./envelope.ts";
import { ErrorCode, RpcError } from "./errors.ts";
import { itemWindow } from "./item-queue.ts";
import { exceedsDepth } from "./limits.ts";
import type { ErrorObject, Id, TypedPaths } from "./message.ts";
import type { Origin } from "./origin.ts";
import { callsOf, endCall } from "./origin-calls.ts";
import type { Running } from "./running.ts";
import { busyWith, invalidRequest, serverBusy } from "./standard-errors.ts";
import { copyId } from "./string-copy.ts";

/** Items that are asked for before the length of any is known. */
const firstCredit = 8;
/** About this many characters may wait for the handler, but always one item. */
const windowLength = 1024 * 1024;

const missing: ErrorObject = {
  code: ErrorCode.InvalidParams,
  message: "Invalid params",
  data: { details: 'this method takes an upload; send "upload": true with the request' },
};
const uncarried: ErrorObject = {
  code: ErrorCode.StreamRequired,
  message: "This method takes an upload",
  data: 'send "Content-Type: application/x-ndjson", or call it over WebSocket, TCP, stdio or NATS',
};
const overrun = invalidRequest("the upload has more items than there was credit for");
const tooMuch: ErrorObject = busyWith("the items of uploads take too much memory");
/** The error of uploads on a connection that brought something unreadable. */
export const itemUnreadable: ErrorObject = invalidRequest(
  "a message could not be read; it may have been an item of this upload",
);
/** The error of a call with an upload that its method does not take. */
export const uploadUnwanted: ErrorObject = {
  ...missing,
  data: { details: "this method does not take an upload" },
};

/** Converts and checks an item; throws what the handler should see. */
export type ReadItem = (value: unknown, types: TypedPaths | undefined) => unknown;

/** The upload of a call; throws the error for the caller if there cannot be one. */
export function openUpload(context: Context, read: ReadItem): Upload {
  const { incoming, peer } = context;
  if (incoming === undefined || incoming.request.upload !== true || context.id === undefined)
    throw refusal(missing);
  if (peer.grantUpload === undefined) throw refusal(uncarried);
  if (incoming.origin.hasAllStreams) throw refusal(serverBusy);
  return new Upload(incoming, read);
}

function refusal({ code, message, data }: ErrorObject): RpcError {
  return new RpcError(code, message, data);
}

/** Takes the params of `$/upload`: an item, or the end. `bytes` is the memory that the item takes. */
export function receiveUpload(
  running: Running,
  origin: Origin,
  params: unknown,
  length: number,
  bytes: number,
): void {
  const { id, value, types, done } = membersOf(params) as {
    id?: Id;
    value?: unknown;
    types?: TypedPaths;
    done?: unknown;
  };
  const upload = id === undefined ? undefined : origin.uploads?.get(id);
  if (id === undefined || upload === undefined) return;
  if (done === true) upload.end();
  else {
    const fault = upload.push(value, types, length, bytes);
    if (fault !== undefined) endCall(callsOf(running, origin), id, fault);
  }
}

/** Ends the calls whose upload may have lost an item. */
export function failUploads(running: Running, origin: Origin, error: ErrorObject): void {
  for (const [id] of origin.uploads?.list() ?? []) endCall(callsOf(running, origin), id, error);
}

interface Item {
  readonly value: unknown;
  readonly types: TypedPaths | undefined;
  readonly bytes: number;
}

/** The items that a caller sends while its call runs, between the wire and the handler. */
export class Upload implements AsyncIterableIterator<unknown> {
  readonly #context: CallContext;
  readonly #id: Id;
  readonly #read: ReadItem;
  #items: Item[] = [];
  #granted = 0;
  #received = 0;
  #taken = 0;
  /** Characters of all items so far. */
  #length = 0;
  #isEnded = false;
  #isClosed = false;
  #failure: Error | undefined;
  /** The read before, so that reads of a handler that does not await them stay in order. */
  #reading: Promise<unknown> = Promise.resolve();
  #wake: (() => void) | undefined;

  constructor(context: CallContext, read: ReadItem) {
    this.#context = context;
    this.#id = copyId(context.id as Id);
    this.#read = read;
    const { origin, signal } = context;
    origin.count(0, 1);
    origin.uploads ??= new BriefMap();
    origin.uploads.set(this.#id, this);
    signal.addEventListener("abort", () => this.#fail(signal.reason as Error), { once: true });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<unknown, undefined>> {
    const next = this.#reading.then(() => this.#next());
    this.#reading = next.catch(() => {});
    return next;
  }

  /** The handler reads no further; what still arrives is dropped. */
  return(): Promise<IteratorResult<unknown, undefined>> {
    this.close();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Takes an item from the wire. Returns the error with which the call has to end, if any. */
  push(
    value: unknown,
    types: TypedPaths | undefined,
    length: number,
    bytes: number,
  ): ErrorObject | undefined {
    if (this.#isClosed || this.#isEnded) return undefined;
    if (++this.#received > this.#granted) return overrun;
    const { maxDepth } = this.#context.limits;
    // The message and its params are two levels.
    if (exceedsDepth(value, maxDepth - 2))
      return invalidRequest(`an item of the upload is nested deeper than ${maxDepth} levels`);
    this.#length += length;
    this.#items.push({ value, types, bytes });
    const hasRoom = this.#context.hold(bytes);
    this.#awake();
    return hasRoom ? undefined : tooMuch;
  }

  /** The caller has sent its last item. */
  end(): void {
    this.#isEnded = true;
    this.#awake();
  }

  /** The handler is done. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#drop();
    const { origin } = this.#context;
    origin.count(0, -1);
    if (origin.uploads?.get(this.#id) === this) origin.uploads.take(this.#id);
    this.#awake();
  }

  /** The call has ended before its handler. */
  #fail(reason: Error): void {
    if (this.#isClosed) return;
    this.#failure = reason;
    this.#drop();
    this.#awake();
  }

  #drop(): void {
    for (const { bytes } of this.#items) this.#context.hold(-bytes);
    this.#items = [];
  }

  async #next(): Promise<IteratorResult<unknown, undefined>> {
    for (;;) {
      // Before reading the items: what the wire has buffered arrives synchronously.
      if (this.#items.length === 0) this.#grant();
      if (this.#failure !== undefined) throw this.#failure;
      const item = this.#items.shift();
      if (item !== undefined) {
        this.#taken++;
        this.#context.hold(-item.bytes);
        this.#grant();
        return { done: false, value: await this.#read(item.value, item.types) };
      }
      if (this.#isClosed || this.#isEnded) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Asks for more items once half of those that may be on their way or unread were taken. */
  #grant(): void {
    if (this.#isEnded || this.#isClosed || this.#failure !== undefined) return;
    const mostAhead =
      this.#received === 0
        ? firstCredit
        : Math.floor((windowLength * this.#received) / Math.max(1, this.#length));
    const most = Math.min(itemWindow, Math.max(1, mostAhead));
    const more = most - (this.#granted - this.#taken);
    if (more < 1 || more < most / 2) return;
    this.#granted += more;
    this.#context.peer.grantUpload?.(this.#id, more);
  }

  #awake(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
