import { type Clock, systemClock, type Timer, withTimeout } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode } from "../../../protocol/errors.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import { isTooLarge } from "../connection.ts";
import { type BucketRetry, type KV, type KvEntry, lateMessage, revisionOf } from "./bucket.ts";

/** The value of a key: a call that runs, or its answer. */
export interface Note {
  /** Hash of method and params. */
  readonly of: string;
  /** Id of the run. */
  readonly by: string;
  readonly reply?: { readonly result?: unknown; readonly error?: ErrorObject };
}

export interface LeaseSettings {
  readonly bucket: KV;
  readonly retry: BucketRetry;
  readonly leaseMs: number;
  readonly clock: Clock;
}

/** The revision of a key that does not exist. */
export const missing = 0;

/** Writes if the key has this revision, and returns the new one. */
type Write = (revision: number) => Promise<number>;

/** A lease is renewed this often within its time, so that one late sign does not lose it. */
const renewals = 3;
/** Longest time of one attempt to write, and longest pause before the next. */
const longestAttemptMs = 1_000;
/** An attempt and a pause take no longer than the time between two renewals. */
const attempts = 2 * renewals;
/** How long a method that ignores its cancellation keeps its key, and how long to try to store an answer. */
const lingerMs = 10 * 60_000;
const takenOver = "idempotency key was taken over while its call runs; the call may run twice";

/** Holds a key while its call runs, by writing it again and again. */
export class Lease {
  readonly #settings: LeaseSettings;
  readonly #name: string;
  readonly #note: Note;
  readonly #call: Pick<Context, "signal" | "log" | "method">;
  readonly #attemptMs: number;
  #revision: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #abortedAt: number | undefined;

  constructor(
    settings: LeaseSettings,
    held: { readonly name: string; readonly note: Note; readonly revision: number },
    call: Pick<Context, "signal" | "log" | "method">,
  ) {
    this.#settings = settings;
    this.#name = held.name;
    this.#note = held.note;
    this.#revision = held.revision;
    this.#call = call;
    this.#attemptMs = Math.min(longestAttemptMs, settings.leaseMs / attempts);
    this.#renewIn(settings.leaseMs / renewals);
  }

  /** Stores the answer, as JSON. Resolves after the first attempt, so that the caller gets the answer; if that failed, more follow. */
  answer(reply: string): Promise<void> {
    return this.#finish(async (revision) => {
      try {
        return await this.#put(reply, revision);
      } catch (error) {
        if (!isTooLarge(error)) throw error;
        return await this.#put(tooLongReply, revision);
      }
    }, takenOver);
  }

  /** Deletes the key, so that the next call with it runs. Resolves like `answer`. */
  release(): Promise<void> {
    return this.#finish(async (revision) => {
      if (revision !== missing)
        await this.#settings.bucket.delete(this.#name, { previousSeq: revision });
      return revision;
    });
  }

  #put(reply: string | undefined, revision: number): Promise<number> {
    const note = JSON.stringify(this.#note);
    const text = reply === undefined ? note : `${note.slice(0, -1)},"reply":${reply}}`;
    return revision === missing
      ? this.#settings.bucket.create(this.#name, text)
      : this.#settings.bucket.update(this.#name, text, revision);
  }

  #renewIn(ms: number): void {
    this.#timer = this.#settings.clock.after(ms, () => {
      this.#renewing = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const timer = this.#timer;
    if (this.#isAbandoned()) return;
    let nextMs = this.#settings.leaseMs / renewals;
    try {
      if (!(await this.#attempt((revision) => this.#put(undefined, revision)))) {
        this.#warn(takenOver);
        return;
      }
    } catch {
      nextMs = this.#attemptMs;
    }
    // Unless it was finished meanwhile.
    if (this.#timer === timer) this.#renewIn(nextMs);
  }

  /** A cancelled method that never ends must not keep its key for ever. */
  #isAbandoned(): boolean {
    if (!this.#call.signal.aborted) return false;
    const now = this.#settings.clock.elapsed();
    this.#abortedAt ??= now;
    return now - this.#abortedAt >= lingerMs;
  }

  /** Writes for the last time, and resolves after the first attempt; `warning` is logged if another worker has the key. */
  #finish(write: Write, warning?: string): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    return new Promise((resolve) => void this.#writeLast(write, warning, resolve));
  }

  /** Tries until it is written: no other process knows how the call ended. */
  async #writeLast(
    write: Write,
    warning: string | undefined,
    attempted: () => void,
  ): Promise<void> {
    const { clock } = this.#settings;
    const { log, method } = this.#call;
    await this.#renewing;
    const end = clock.elapsed() + lingerMs;
    for (let isFirst = true; ; isFirst = false) {
      try {
        const isOurs = await this.#attempt(write);
        if (!isOurs && warning !== undefined) this.#warn(warning);
        return attempted();
      } catch (err) {
        attempted();
        if (isClosed(err) || clock.elapsed() >= end) {
          log.error({ method, err }, "could not store the result under its idempotency key");
          return;
        }
        if (isFirst) this.#warn("could not yet store the result under its idempotency key", err);
      }
      await new Promise<void>((resolve) => clock.after(this.#attemptMs, resolve));
    }
  }

  #warn(message: string, err?: unknown): void {
    const { log, method } = this.#call;
    const { leaseMs } = this.#settings;
    log.warn({ method, leaseMs, ...(err === undefined ? {} : { err }) }, message);
  }

  /** Writes while the key is ours, and returns false if it no longer is; rejects if NATS takes too long. */
  #attempt(write: Write): Promise<boolean> {
    return withTimeout(systemClock, this.#attemptMs, this.#write(write), lateMessage);
  }

  async #write(write: Write): Promise<boolean> {
    // A late attempt may still be under way, and each may only replace the revision that it has seen.
    let revision = this.#revision;
    for (;;) {
      const written = await revisionOf(write(revision));
      if (written !== undefined) {
        this.#revision = Math.max(this.#revision, written);
        return true;
      }
      const entry = await this.#settings.bucket.get(this.#name);
      if (entry === null && revision !== missing) {
        revision = missing;
        continue;
      }
      const note = entry === null ? undefined : noteIn(entry);
      const isOurs = note?.by === this.#note.by;
      // From a node that lags behind, or a nats-server that lost its last writes.
      if (entry === null || entry.revision <= revision) {
        if (entry !== null && isOurs) this.#revision = entry.revision;
        throw new Error("NATS returned an older revision of the key");
      }
      if (!isOurs) return false;
      // It was stored, and only the confirmation was lost.
      if (note.reply !== undefined) return true;
      revision = entry.revision;
    }
  }
}

/** Stored instead of an answer that is too long for NATS: the call must not run again because of that. */
const tooLongReply = JSON.stringify({
  error: {
    code: ErrorCode.ReplyTooLarge,
    message: "Reply too large",
    data: "the call has run, and its answer was too long to be kept for its key",
  },
});

/** No other attempt can succeed. */
function isClosed(error: unknown): boolean {
  const { name } = error as Error;
  return name === "ClosedConnectionError" || name === "DrainingConnectionError";
}

/** Whether the entry says that this run has not ended. */
export function isRunningAt(entry: KvEntry, by: string): boolean {
  const note = noteIn(entry);
  return note !== undefined && note.reply === undefined && note.by === by;
}

function noteIn(entry: KvEntry): Note | undefined {
  return entry.operation === "PUT" ? entry.json<Note>() : undefined;
}
