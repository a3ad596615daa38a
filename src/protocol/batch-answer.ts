import type { Answer, AnswerSettings } from "./answer.ts";
import { invalidRequest } from "./errors.ts";
import type { ErrorObject } from "./message.ts";
import type { Origin } from "./origin.ts";
import { BatchText } from "./parse.ts";
import type { ReplyWriter } from "./reply-writer.ts";

/** Answers the entries of a batch, one at a time. */
export interface EntryAnswerer {
  readonly settings: AnswerSettings;
  readonly writer: ReplyWriter;
  answerMessage(
    message: unknown,
    text: string,
    batch: BatchText | undefined,
    origin: Origin,
  ): Answer;
}

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
  return entries.length > limits.maxBatch
    ? invalidRequest(`a batch holds at most ${limits.maxBatch} requests`)
    : undefined;
}

/** Answers a batch, at once if each of its entries is answered at once. */
export function answerBatch(
  answerer: EntryAnswerer,
  entries: readonly unknown[],
  text: string,
  origin: Origin,
): Answer {
  const { maxReplyLength } = answerer.settings.limits;
  const batch = new BatchText(text);
  let replies = "";
  for (let i = 0; i < entries.length; i++) {
    batch.entry = i;
    const reply = answerer.answerMessage(entries[i], text, batch, origin);
    if (reply instanceof Promise)
      return answerRest(answerer, entries, text, batch, origin, replies, reply);
    if (reply !== undefined) replies = replies === "" ? reply : `${replies},${reply}`;
    if (replies.length > maxReplyLength) return answerer.writer.batchTooLarge();
  }
  return whole(replies, entries.length, batch, origin);
}

/** The text of a batch. Where all of it was refused alike, the wire is told why. */
function whole(
  replies: string,
  entries: number,
  batch: BatchText,
  origin: Origin,
): string | undefined {
  if (replies === "") return undefined;
  origin.lastError = batch.refusal.of(entries);
  return `[${replies}]`;
}

/** Goes on with a batch once an entry needs time; the others start meanwhile, up to the limit. */
async function answerRest(
  answerer: EntryAnswerer,
  entries: readonly unknown[],
  text: string,
  batch: BatchText,
  origin: Origin,
  head: string,
  first: Promise<string | undefined>,
): Promise<string | undefined> {
  const { limits, watch } = answerer.settings;
  const { maxBatchConcurrency, maxReplyLength } = limits;
  const from = batch.entry;
  const tail: (string | undefined)[] = [];
  let open = 0;
  let length = head.length;
  let wake: (() => void) | undefined;
  const keep = (written: string | undefined, place: number): void => {
    length += written === undefined ? 0 : written.length + 1;
    // What is too long as a whole is not kept while the rest comes in.
    if (length <= maxReplyLength) tail[place] = written;
    else tail.length = 0;
  };
  const track = (reply: Promise<string | undefined>, place: number): void => {
    open++;
    void reply.then((written) => {
      keep(written, place);
      open--;
      wake?.();
    });
  };
  const change = () => new Promise<void>((resolve) => (wake = resolve));
  track(first, 0);
  for (let i = from + 1; i < entries.length; i++) {
    while (open >= maxBatchConcurrency) {
      watch?.queue(entries.length - i);
      await change();
      watch?.queue(i - entries.length);
    }
    if (origin.aborted) return undefined;
    batch.entry = i;
    const reply = answerer.answerMessage(entries[i], text, batch, origin);
    if (reply instanceof Promise) track(reply, i - from);
    else keep(reply, i - from);
  }
  while (open > 0) await change();
  if (length > maxReplyLength) return answerer.writer.batchTooLarge();
  let replies = head;
  for (const reply of tail) {
    if (reply !== undefined) replies = replies === "" ? reply : `${replies},${reply}`;
  }
  return whole(replies, entries.length, batch, origin);
}
