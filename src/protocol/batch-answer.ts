import type { Answer, AnswerSettings } from "./answer.ts";
import { invalidRequest, limitExceeded } from "./errors.ts";
import type { ErrorObject, Id } from "./message.ts";
import type { Origin } from "./origin.ts";
import { BatchText, isEnvelope } from "./parse.ts";
import type { ReplyWriter } from "./reply-writer.ts";

/** Answers the entries of a batch, one at a time. */
export interface EntryAnswerer {
  readonly settings: AnswerSettings;
  readonly writer: ReplyWriter;
  /** Gives `later` for an entry that takes its time, whose reply then lands in the batch. */
  answerMessage(message: unknown, text: string, batch: BatchAnswer, origin: Origin): Answer;
}

/** Stands for a reply that lands by itself; a promise for each entry costs more than the entry. */
export const later: Promise<undefined> = new Promise(() => {});

const emptyBatch = invalidRequest("a batch holds at least one request");
const noBatches = invalidRequest("a payload holds one message; batches are not taken here");

/** Why a batch is refused as a whole. */
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
 * A batch that is being answered: at once if each of its entries is, else those that take their time
 * run side by side, up to the limit. The replies stand in the order of their requests.
 */
export class BatchAnswer extends BatchText {
  readonly #answerer: EntryAnswerer;
  readonly #entries: readonly unknown[];
  readonly #origin: Origin;
  /** The replies up to the first entry that takes its time. */
  #head = "";
  /** The others in their places, with holes where none has come. */
  readonly #tail: (string | undefined)[] = [];
  #isHead = true;
  /** How long all replies are together. */
  #length = 0;
  #next = 0;
  /** Entries that run. */
  #open = 0;
  /** Entries whose handlers are not done, though their callers may have been answered. */
  #unfinished = 0;
  /** Counted for the whole batch while any of them is not: what it was parsed to is kept as one. */
  heldBytes = 0;
  /** Entries that wait until others are done. */
  #queued = 0;
  #starting = false;
  #givenUp: Set<unknown> | undefined;
  #resolve: ((text: string | undefined) => void) | undefined;

  constructor(answerer: EntryAnswerer, entries: readonly unknown[], text: string, origin: Origin) {
    super(text);
    this.#answerer = answerer;
    this.#entries = entries;
    this.#origin = origin;
  }

  answer(): Answer {
    this.#start();
    if (this.#isDone) return this.#written();
    if (this.#origin.held !== undefined) this.detach();
    return new Promise((resolve) => (this.#resolve = resolve));
  }

  /** The entry that is being answered takes its time; gives the place where its reply lands. */
  entryResolver(): (reply: string | undefined) => void {
    const place = this.entry;
    this.#isHead = false;
    this.#open++;
    return (reply) => {
      this.#open--;
      this.#keep(reply, place);
      // It may settle while others are started, and those go on without it.
      if (this.#starting) return;
      this.#start();
      if (this.#isDone) this.#resolve?.(this.#written());
    };
  }

  /** Whether it is counted. */
  get isHeld(): boolean {
    return this.#unfinished > 0;
  }

  /** An entry takes its time. Whether it is the only one now. */
  begin(): boolean {
    return ++this.#unfinished === 1;
  }

  /** The handler of an entry is done. Gives what is held no longer. */
  finish(): number {
    return --this.#unfinished === 0 ? this.heldBytes : 0;
  }

  /** Nobody wants the reply of this entry any more; where it has not begun, it does not. */
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
      const reply = this.#answerer.answerMessage(message, this.text, this, this.#origin);
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

  /** Whether no entry is left to start, or nobody could get its reply. */
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
    // What is too long as a whole is not kept while the rest comes in.
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
    // Where all of it was refused alike, the wire is told why.
    this.#origin.lastError = this.refusal.of(this.#entries.length);
    return `[${replies}]`;
  }
}

function joined(replies: string, reply: string): string {
  return replies === "" ? reply : `${replies},${reply}`;
}
