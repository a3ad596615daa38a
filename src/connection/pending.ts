import { BriefMap } from "../protocol/brief-map.ts";
import { limitIn, RemoteError, WireError } from "../protocol/errors.ts";
import { itemWindow } from "../protocol/item-queue.ts";
import type { Outgoing } from "../protocol/link.ts";
import type { Id, Reply, Request } from "../protocol/message.ts";
import { replyOf } from "../protocol/pair.ts";
import type { Envelope } from "../protocol/parse.ts";

/** What a call was sent in, alone or with others. */
export interface SentPayload {
  /** Of its text. */
  readonly length: number;
  /** How many messages it holds. */
  readonly count: number;
}

const mostBytesOfACharacter = 3;

interface Waiting {
  /** Of a stream. */
  unread: UnreadItems | undefined;
  readonly payload: SentPayload | undefined;
  readonly request: Request;
  readonly outgoing: Outgoing;
  readonly resolve: (reply: Reply) => void;
  readonly reject: (error: unknown) => void;
}

/** Calls that were sent and await a response, paired by id. */
export class Pending {
  readonly #waiting = new BriefMap<Id, Waiting>();

  get size(): number {
    return this.#waiting.size;
  }

  /** `cancelled` runs when the caller gives up before the response. */
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

  /** The call that a report of progress is about: by its id, or by the token that its params gave out, as in LSP. */
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

  /** False when nobody waits for it: late, doubled, or never asked for. */
  settle(message: Envelope): boolean {
    const { id } = message;
    if (id === undefined || id === null) return this.#settleUnnamed(message);
    const waiting = this.#waiting.take(id as Id);
    if (waiting === undefined) return false;
    waiting.outgoing.cancel = undefined;
    const reply = replyOf(message);
    if (reply === undefined)
      waiting.reject(new WireError("BAD_REPLY", "the reply is not JSON-RPC"));
    else waiting.resolve(reply);
    return true;
  }

  /** A reply without an id can belong to any open call, and none may wait for ever. */
  #settleUnnamed(message: Envelope): boolean {
    const reply = replyOf(message);
    if (this.#waiting.size === 0 || reply?.error === undefined) return false;
    const error = RemoteError.from(reply.error);
    const exceeded = limitIn(reply.error);
    if (exceeded === undefined) this.failUnnamed(error);
    else {
      const isBatch = exceeded.limit === "maxBatch";
      // Bytes are counted, of which a payload may have more than its text has characters.
      const most = isBatch ? exceeded.max : exceeded.max / mostBytesOfACharacter;
      const refused = this.#greatestOver(most, ({ count, length }) => (isBatch ? count : length));
      for (const [id, { payload }] of this.#waiting.list()) {
        if (payload !== undefined && payload === refused) this.#reject(id, error);
      }
    }
    return true;
  }

  /** If one of the open ones was refused for its size, it was this one; another of its size is refused by itself. */
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

  /** One of the open calls failed with this error, and nobody can say which. */
  failUnnamed(error: Error): void {
    const count = this.#waiting.size;
    if (count <= 1) this.fail(error);
    else {
      const sentence = `the other end answered without an id; one of ${count} open calls failed`;
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

/** How long the items of a stream are that came and were not read. */
export class UnreadItems {
  readonly #lengths: number[] = [];
  readonly #give: (count: number) => void;
  #total = 0;
  #credited = false;

  /** `give` tells the other end how many more may come. */
  constructor(give: (count: number) => void) {
    this.#give = give;
  }

  /** What their reader says: the first time before it has read anything, and then for as many as it has read. */
  readonly credit = (count: number): void => {
    if (this.#credited) for (const length of this.#lengths.splice(0, count)) this.#total -= length;
    this.#credited = true;
    this.#give(count);
  };

  /** False when more came than there was credit for, and more than so many characters. */
  add(length: number, most: number): boolean {
    // A reader that never speaks of credit may have read them all, and its queue has a limit of its own.
    if (!this.#credited && this.#lengths.length > 0) return true;
    this.#lengths.push(length);
    this.#total += length;
    return this.#lengths.length <= itemWindow || this.#total <= most;
  }
}

/** Waits for what the call needs, unless its caller gives up. */
export function unlessCancelled<T>(
  needed: Promise<T>,
  outgoing: Outgoing,
  left?: () => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = (error: WireError): void => {
      left?.();
      reject(error);
    };
    outgoing.cancel = cancel;
    const settled = (): void => {
      if (outgoing.cancel === cancel) outgoing.cancel = undefined;
    };
    needed.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
