import { BriefMap } from "../protocol/brief-map.ts";
import type { Envelope } from "../protocol/envelope.ts";
import { RemoteError, WireError } from "../protocol/errors.ts";
import { limitIn } from "../protocol/failure-data.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Id, Reply, Request } from "../protocol/message.ts";
import { replyIn } from "../protocol/pair.ts";

/** The payload that carried a call, alone or with others. */
export interface SentPayload {
  /** Length of its JSON. */
  readonly length: number;
  /** Number of its messages. */
  readonly count: number;
}

const mostBytesOfACharacter = 3;

interface Waiting {
  /** Unread items of a stream. */
  unread: UnreadItems | undefined;
  readonly payload: SentPayload | undefined;
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that were sent and wait for a reply, paired by id. */
export class Pending {
  readonly #waiting = new BriefMap<Id, Waiting>();

  get size(): number {
    return this.#waiting.size;
  }

  /** `cancelled` runs if the caller cancels before the reply. */
  add(
    id: Id,
    request: Request,
    outgoing: Outgoing,
    cancelled: () => void,
    payload?: SentPayload,
  ): Promise<Reply> {
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { unread: undefined, payload, request, outgoing, resolve, reject });
      const cancel = (error: WireError): void => {
        if (this.#waiting.take(id) === undefined) return;
        outgoing.cancel = undefined;
        cancelled();
        reject(error);
      };
      outgoing.cancel = cancel;
    });
  }

  get(id: unknown): Waiting | undefined {
    return this.#waiting.get(id as Id);
  }

  /** The call of a progress report: by its id, or by the token in its params, as in LSP. */
  reported(token: unknown): Outgoing | undefined {
    const named = this.get(token)?.outgoing;
    if (named !== undefined || token === undefined) return named;
    for (const [, { request, outgoing }] of this.#waiting.list()) {
      if ((request.params as { workDoneToken?: unknown } | undefined)?.workDoneToken === token) {
        return outgoing;
      }
    }
    return undefined;
  }

  /** False if no call waits for it: it is late, a duplicate, or unexpected. `typed` completes a reply with rich values. */
  settle(message: Envelope, typed?: (id: Id, reply: Reply) => Reply): boolean {
    const { id } = message;
    if (id === undefined || id === null) return this.#settleUnnamed(message);
    const waiting = this.#waiting.take(id as Id);
    if (waiting === undefined) return false;
    waiting.outgoing.cancel = undefined;
    const reply = replyIn(message);
    if (reply === undefined)
      waiting.reject(new WireError("BAD_REPLY", "the reply is not JSON-RPC"));
    else if (reply.types === undefined || typed === undefined) waiting.resolve(reply);
    else waiting.resolve(typed(id as Id, reply));
    return true;
  }

  /** A reply without an id can belong to any open call, and none may wait forever. */
  #settleUnnamed(message: Envelope): boolean {
    const reply = replyIn(message);
    if (this.#waiting.size === 0 || reply?.error === undefined) return false;
    const error = RemoteError.from(reply.error);
    const exceeded = limitIn(reply.error);
    if (exceeded === undefined) this.failUnnamed(error);
    else {
      const isBatch = exceeded.limit === "maxBatch";
      // The limit counts bytes, and a character may take several.
      const most = isBatch ? exceeded.max : exceeded.max / mostBytesOfACharacter;
      const refused = this.#greatestOver(most, ({ count, length }) => (isBatch ? count : length));
      for (const [id, { payload }] of this.#waiting.list()) {
        if (payload !== undefined && payload === refused) this.#reject(id, error);
      }
    }
    return true;
  }

  /** The largest open payload above `most`: if one was refused for its size, it was this one. */
  #greatestOver(most: number, sizeOf: (payload: SentPayload) => number): SentPayload | undefined {
    let greatest: SentPayload | undefined;
    let size = most;
    for (const [, { payload }] of this.#waiting.list()) {
      if (payload === undefined || sizeOf(payload) <= size) continue;
      greatest = payload;
      size = sizeOf(payload);
    }
    return greatest;
  }

  /** An unknown one of the open calls failed with this error. */
  failUnnamed(error: Error): void {
    const count = this.#waiting.size;
    if (count <= 1) this.fail(error);
    else {
      const sentence = `the peer replied without an id; one of ${count} open calls failed`;
      this.fail(new WireError("BAD_REPLY", sentence, { cause: error }));
    }
  }

  /** Fails everything that is open. */
  fail(error: Error): void {
    for (const [id] of this.#waiting.list()) this.#reject(id, error);
  }

  #reject(id: Id, error: Error): void {
    const waiting = this.#waiting.take(id);
    if (waiting === undefined) return;
    waiting.outgoing.cancel = undefined;
    waiting.reject(error);
  }
}

/** Length of the unread items of a stream. */
export class UnreadItems {
  readonly #lengths: number[] = [];
  readonly #give: (count: number) => void;
  #total = 0;
  #credited = false;

  /** `give` sends credit to the peer. */
  constructor(give: (count: number) => void) {
    this.#give = give;
  }

  /** Called by the reader: first before it has read anything, then with the number of items that it has read. */
  readonly credit = (count: number): void => {
    if (this.#credited) for (const length of this.#lengths.splice(0, count)) this.#total -= length;
    this.#credited = true;
    this.#give(count);
  };

  /** False if more arrived than there was credit for, and more than `most` characters. */
  add(length: number, most: number): boolean {
    // A reader that never grants credit may have read all, and its queue has its own limit.
    if (!this.#credited && this.#lengths.length > 0) return true;
    this.#lengths.push(length);
    this.#total += length;
    return this.#lengths.length <= itemWindow || this.#total <= most;
  }
}
