import type { Answer, AnswerSettings } from "./answer.ts";
import { isEnvelope } from "./envelope.ts";
import { type AnswerReceiver, LaterAnswer, later } from "./later-answer.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import { BatchText } from "./parse.ts";
import type { ReplyWriter } from "./reply-writer.ts";
import { invalidRequest, limitExceeded } from "./standard-errors.ts";

/** Answers the entries of a batch, one at a time. */
export interface EntryAnswerer {
  readonly settings: AnswerSettings;
  readonly writer: ReplyWriter;
  /** Returns `later` for an asynchronous entry, whose reply is then given to the batch. */
  answerMessage(
    message: unknown,
    text: string,
    batch: BatchAnswer,
    origin: Origin,
    receiver: undefined,
  ): Answer;
}

const emptyBatch = invalidRequest("a batch must hold at least one request");
const noBatches = invalidRequest("batches are not accepted here; send one message per payload");

/** Why a batch is rejected as a whole. */
export function batchFault(
  entries: readonly unknown[],
  { limits, profile }: AnswerSettings,
  origin: Origin,
): ErrorObject | undefined {
  if (profile?.batches(origin) === false) return noBatches;
  if (entries.length === 0) return emptyBatch;
  return entries.length > limits.maxBatch ? limitExceeded("maxBatch", limits.maxBatch) : undefined;
}

/**
 * A batch being answered: synchronously if every entry is; otherwise asynchronous entries run concurrently, up to the
 * limit. Replies are in the order of the requests.
 */
export class BatchAnswer extends BatchText {
  readonly #answerer: EntryAnswerer;
  readonly #entries: readonly unknown[];
  readonly #origin: Origin;
  /** The replies before the first asynchronous entry. */
  #head = "";
  /** The replies after it by index, with holes for those still missing. */
  readonly #tail: (string | undefined)[] = [];
  #isHead = true;
  /** Total length of the replies. */
  #length = 0;
  #next = 0;
  /** Entries that are running. */
  #open = 0;
  /** Entries whose handlers have not finished, even if their callers were answered. */
  #unfinished = 0;
  /** Memory counted for the batch while a handler runs: its parsed payload is kept as a whole. */
  heldBytes = 0;
  /** Entries that wait for others to finish. */
  #queued = 0;
  #starting = false;
  #givenUp: Set<unknown> | undefined;
  #receiver: AnswerReceiver | undefined;

  constructor(answerer: EntryAnswerer, entries: readonly unknown[], text: string, origin: Origin) {
    super(text);
    this.#answerer = answerer;
    this.#entries = entries;
    this.#origin = origin;
  }

  answer(receiver: AnswerReceiver | undefined): Answer {
    this.#start();
    if (this.#isDone) return this.#written();
    if (this.#origin.held !== undefined) this.detach();
    if (receiver === undefined) {
      const own = new LaterAnswer();
      this.#receiver = own;
      return own.promise;
    }
    this.#receiver = receiver;
    return later;
  }

  /** The current entry is asynchronous; returns what takes its reply. */
  entryReceiver(): AnswerReceiver {
    this.#isHead = false;
    this.#open++;
    return new EntryReceiver(this, this.entry);
  }

  /** An asynchronous entry was answered. */
  entryAnswered(reply: string | undefined, place: number): void {
    this.#open--;
    this.#keep(reply, place);
    // It may finish while other entries are being started, and that loop then continues.
    if (this.#starting) return;
    this.#start();
    if (this.#isDone) this.#receiver?.answered(this.#written());
  }

  /** Whether its memory is counted. */
  get isHeld(): boolean {
    return this.#unfinished > 0;
  }

  /** An asynchronous entry begins. Returns whether it is the only one. */
  begin(): boolean {
    return ++this.#unfinished === 1;
  }

  /** The handler of an entry is done. Returns the bytes to release. */
  finish(): number {
    return --this.#unfinished === 0 ? this.heldBytes : 0;
  }

  /** The caller cancelled this entry; if it has not begun, it will not. */
  giveUp(id: Id): void {
    const waits = this.#entries.some(
      (entry, i) => i >= this.#next && isEnvelope(entry) && entry.id === id,
    );
    if (!waits) return;
    this.#givenUp ??= new Set();
    this.#givenUp.add(id);
  }

  isGivenUp(id: Id | undefined): boolean {
    return this.#givenUp?.has(id) === true;
  }

  #start(): void {
    const { limits, watch } = this.#answerer.settings;
    if (this.#queued > 0) watch?.queue(-this.#queued);
    this.#starting = true;
    while (!this.#isStarted && this.#open < limits.maxBatchConcurrency) {
      this.entry = this.#next++;
      const message = this.#entries[this.entry];
      const reply = this.#answerer.answerMessage(message, this.text, this, this.#origin, undefined);
      if (!(reply instanceof Promise)) this.#keep(reply, this.entry);
    }
    this.#starting = false;
    this.#queued = this.#isStarted ? 0 : this.#entries.length - this.#next;
    if (this.#queued > 0) {
      watch?.queue(this.#queued);
      this.#origin.queues ??= new Set();
      this.#origin.queues.add(this);
    } else this.#origin.queues?.delete(this);
  }

  /** Whether nothing is left to start, or no client is left to get the replies. */
  get #isStarted(): boolean {
    return this.#next === this.#entries.length || this.#isTooLong || this.#origin.aborted;
  }

  get #isDone(): boolean {
    return this.#open === 0 && this.#isStarted;
  }

  get #isTooLong(): boolean {
    return this.#length > this.#answerer.settings.limits.maxReplyLength;
  }

  #keep(reply: string | undefined, place: number): void {
    if (reply === undefined) return;
    this.#length += reply.length + 1;
    // Drops replies that are too long together while the others arrive.
    if (this.#isTooLong) this.#tail.length = 0;
    else if (this.#isHead) this.#head = joined(this.#head, reply);
    else this.#tail[place] = reply;
  }

  #written(): string | undefined {
    if (this.#origin.aborted) return undefined;
    if (this.#isTooLong) return this.#answerer.writer.batchTooLarge();
    let replies = this.#head;
    for (const reply of this.#tail) if (reply !== undefined) replies = joined(replies, reply);
    if (replies === "") return undefined;
    // If every entry failed with the same error, HTTP takes its status from it.
    this.#origin.lastError = this.refusal.of(this.#entries.length);
    return `[${replies}]`;
  }
}

class EntryReceiver implements AnswerReceiver {
  readonly #batch: BatchAnswer;
  readonly #place: number;

  constructor(batch: BatchAnswer, place: number) {
    this.#batch = batch;
    this.#place = place;
  }

  answered(text: string | undefined): void {
    this.#batch.entryAnswered(text, this.#place);
  }
}

function joined(replies: string, reply: string): string {
  return replies === "" ? reply : `${replies},${reply}`;
}
