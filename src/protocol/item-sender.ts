import { bytesInside } from "./attachments.ts";
import { BriefMap } from "./brief-map.ts";
import { hasEnded, whenEnded } from "./call-end.ts";
import type { CallContext, Context } from "./context.ts";
import { ErrorCode } from "./errors.ts";
import { itemMembers } from "./item-members.ts";
import type { ItemMembers } from "./link.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import { asError, replyTooLarge, serverBusy } from "./standard-errors.ts";
import { copyId } from "./string-copy.ts";
import type { Watches } from "./watch.ts";

/** After this many items without a pause, other work gets a turn, such as a cancel. */
const itemsPerTurn = 128;

/** Why a stream cannot be sent to this caller, if it cannot. */
export function streamRefusal(context: Context): ErrorObject | undefined {
  if (!context.peer.canNotify) {
    return {
      code: ErrorCode.StreamRequired,
      message: "This method streams",
      data: 'send "Accept: text/event-stream", or call it over WebSocket, TCP or stdio',
    };
  }
  return context.incoming?.origin.hasAllStreams ? serverBusy : undefined;
}

type Item = { readonly id: Id } & { readonly [Key in keyof ItemMembers]: ItemMembers[Key] };

/** Sends the items of one stream, as fast as the reader grants credit and the wire accepts them. */
export class ItemSender {
  readonly #context: Context;
  readonly #id: Id;
  readonly #gate: Gate;
  readonly #origin: Origin | undefined;
  readonly #watch: Watches | undefined;
  /** Set if the reader accepts rich values. */
  readonly #rich: CallContext | undefined;
  #sent = 0;

  constructor(context: Context) {
    this.#context = context;
    this.#id = copyId(context.id as Id);
    this.#gate = new Gate(context, firstCredit(context));
    const call: CallContext | undefined = context.incoming;
    this.#origin = call?.origin;
    if (this.#origin !== undefined) {
      this.#origin.count(0, 1);
      streamsOf(this.#origin).set(this.#id, (count) => this.#gate.give(count));
    }
    this.#rich = call?.request.types === undefined ? undefined : call;
    call?.beginStream();
    this.#watch = call?.watch;
    this.#watch?.stream(context, 1);
  }

  /** True if the item was or will be sent; false if the reader has left. */
  send(value: unknown): true | Promise<boolean> {
    if (this.#rich === undefined) return this.#send({ id: this.#id, value });
    const { values, limits } = this.#rich;
    const most = bytesInside(limits.maxReplyLength);
    const members = itemMembers(values, value, most, this.#context.signal);
    if (!(members instanceof Promise)) return this.#send({ id: this.#id, ...members });
    return members.then(
      (whole) => this.#send({ id: this.#id, ...whole }),
      (thrown) => {
        if (!(thrown instanceof RangeError)) throw thrown;
        throw asError(replyTooLarge(limits.maxReplyLength, "an item"));
      },
    );
  }

  #send(item: Item): true | Promise<boolean> {
    if (!this.#gate.open || this.#context.peer.ready() !== undefined) return this.#wait(item);
    if (hasEnded(this.#context)) return Promise.resolve(false);
    this.#transmit(item);
    return ++this.#sent % itemsPerTurn === 0 ? nextTurn() : true;
  }

  async #wait(item: Item): Promise<boolean> {
    const { peer } = this.#context;
    if (!this.#gate.open) await this.#gate.opened();
    let full = peer.ready();
    while (full !== undefined && !hasEnded(this.#context)) {
      await this.#gate.openedOr(full);
      full = peer.ready();
    }
    if (hasEnded(this.#context)) return false;
    this.#transmit(item);
    return true;
  }

  #transmit(item: Item): void {
    this.#context.peer.notify("$/stream", item);
    this.#watch?.item(this.#context);
    this.#gate.take();
  }

  /** The stream is over. */
  end(): void {
    this.#watch?.stream(this.#context, -1);
    this.#origin?.count(0, -1);
    this.#origin?.streams?.take(this.#id);
  }
}

function streamsOf(origin: Origin): BriefMap<Id, (count: number) => void> {
  origin.streams ??= new BriefMap();
  return origin.streams;
}

/** Initial credit in the request, if the wire can grant more later. */
function firstCredit(context: Context): number | undefined {
  if (context.incoming === undefined || context.peer.givesCredit !== true) return undefined;
  const { credit } = context.incoming.request;
  return typeof credit === "number" && credit > 0 ? credit : undefined;
}

/** Counts the reader's credit. A reader that never grants any gets everything. */
class Gate {
  readonly #context: Context;
  #credit: number;
  #limited: boolean;
  /** Initial credit of the request, until the reader grants more. */
  #first: number;
  #waiting: (() => void) | undefined;

  constructor(context: Context, first: number | undefined) {
    this.#context = context;
    this.#limited = first !== undefined;
    this.#first = first ?? 0;
    this.#credit = this.#first;
    whenEnded(context, () => this.#wake());
  }

  get open(): boolean {
    return !this.#limited || this.#credit > 0 || hasEnded(this.#context);
  }

  give(count: number): void {
    this.#limited = true;
    this.#credit += count - this.#first;
    this.#first = 0;
    if (this.#credit > 0) this.#wake();
  }

  take(): void {
    // Counted from the first item, so that items sent before the first credit count too.
    this.#credit--;
  }

  opened(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
    });
  }

  /** Waits for the wire, or until the reader has left. */
  openedOr(ready: Promise<void>): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting = resolve;
      void ready.then(resolve);
    });
  }

  #wake(): void {
    this.#waiting?.();
    this.#waiting = undefined;
  }
}

const immediate = (globalThis as { setImmediate?: (run: () => void) => unknown }).setImmediate;

function nextTurn(): Promise<true> {
  return new Promise((resolve) => {
    if (immediate !== undefined) immediate(() => resolve(true));
    else setTimeout(resolve, 0, true);
  });
}
