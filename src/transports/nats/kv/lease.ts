import { systemClock, type Timer, withTimeout } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode } from "../../../protocol/errors.ts";
import type { ErrorObject } from "../../../protocol/message.ts";
import { saysTooLarge } from "../too-large.ts";
import type { KvEntry } from "./client-library.ts";
import type { Ledger } from "./ledger.ts";
import { silence } from "./outage.ts";
import { revisionOf } from "./revision.ts";

/** What stands under a key: a call that runs, or the answer it ended with. */
export interface Note {
  /** What was called, with which params. */
  readonly of: string;
  /** Who runs it. */
  readonly by: string;
  readonly reply?: { readonly result?: unknown; readonly error?: ErrorObject };
}

/** The revision of a key that is not there. */
export const gone = 0;

/** Writes where the key has this revision, and says the new one. */
type Write = (revision: number) => Promise<number>;

/** So many times within its length a lease is renewed, so that one late sign does not lose it. */
const renewals = 3;
/** An attempt to write is given up after this time at the latest, and the next is made so long after it. */
const longestAttemptMs = 1_000;
/** Both together take no longer than the time between two signs, so that one is given soon after NATS is back. */
const attempts = 2 * renewals;
/** So long a method that goes on after its call has ended still holds its key, and so long its end is tried to be kept. */
const lingerMs = 10 * 60_000;

/** A key that is held while its call runs: it is written anew often enough to show that somebody is there. */
export class Lease {
  readonly #ledger: Ledger;
  readonly #name: string;
  readonly #note: Note;
  readonly #call: Pick<Context, "signal" | "log" | "method">;
  readonly #attemptMs: number;
  #revision: number;
  #timer: Timer | undefined;
  #renewing: Promise<void> | undefined;
  #endedAt: number | undefined;

  constructor(
    ledger: Ledger,
    held: { readonly name: string; readonly note: Note; readonly revision: number },
    call: Pick<Context, "signal" | "log" | "method">,
  ) {
    this.#ledger = ledger;
    this.#name = held.name;
    this.#note = held.note;
    this.#revision = held.revision;
    this.#call = call;
    this.#attemptMs = Math.min(longestAttemptMs, ledger.leaseMs / attempts);
    this.#await(ledger.leaseMs / renewals);
  }

  /**
   * Leaves the answer, as JSON, under the key. Resolves after the first attempt, because what was done is done, and the
   * caller is to hear it; where that failed, more follow.
   */
  answer(reply: string): Promise<void> {
    return this.#conclude(async (revision) => {
      try {
        return await this.#put(reply, revision);
      } catch (error) {
        if (!saysTooLarge(error)) throw error;
        return await this.#put(tooLong, revision);
      }
    }, takenOver);
  }

  /** Gives the key back: the next call with it runs. The same holds for its attempts. */
  release(): Promise<void> {
    return this.#conclude(async (revision) => {
      if (revision !== gone)
        await this.#ledger.bucket.delete(this.#name, { previousSeq: revision });
      return revision;
    });
  }

  #put(reply: string | undefined, revision: number): Promise<number> {
    const note = JSON.stringify(this.#note);
    const text = reply === undefined ? note : `${note.slice(0, -1)},"reply":${reply}}`;
    return revision === gone
      ? this.#ledger.bucket.create(this.#name, text)
      : this.#ledger.bucket.update(this.#name, text, revision);
  }

  #await(ms: number): void {
    this.#timer = this.#ledger.clock.after(ms, () => {
      this.#renewing = this.#renew();
    });
  }

  async #renew(): Promise<void> {
    const timer = this.#timer;
    if (this.#isAbandoned()) return;
    let nextMs = this.#ledger.leaseMs / renewals;
    try {
      if (!(await this.#attempt((revision) => this.#put(undefined, revision)))) {
        this.#warn(takenOver);
        return;
      }
    } catch {
      // NATS may be back by the next time.
      nextMs = this.#attemptMs;
    }
    // Where it was stopped meanwhile, there is no next time.
    if (this.#timer === timer) this.#await(nextMs);
  }

  /** A method that does not end although nobody waits for it any more must not hold its key for ever. */
  #isAbandoned(): boolean {
    if (!this.#call.signal.aborted) return false;
    const now = this.#ledger.clock.elapsed();
    this.#endedAt ??= now;
    return now - this.#endedAt >= lingerMs;
  }

  /** Writes for the last time. `ifNot` is what the log says where the key was not ours any more. */
  async #conclude(write: Write, ifNot?: string): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#renewing;
    const end = this.#ledger.clock.elapsed() + lingerMs;
    const attempt = async (): Promise<unknown> => {
      try {
        const isOurs = await this.#attempt(write);
        if (!isOurs && ifNot !== undefined) this.#warn(ifNot);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    const error = await attempt();
    if (error !== undefined) void this.#goOn(attempt, error, end);
  }

  /** Tries until it is written: nobody else knows how the call ended. */
  async #goOn(attempt: () => Promise<unknown>, first: unknown, end: number): Promise<void> {
    const { clock } = this.#ledger;
    let error: unknown = first;
    if (!isHopeless(error)) this.#warn("how a call ended is not yet kept for its key", error);
    while (error !== undefined && !isHopeless(error) && clock.elapsed() < end) {
      await new Promise<void>((resolve) => clock.after(this.#attemptMs, resolve));
      error = await attempt();
    }
    if (error === undefined) return;
    const { log, method } = this.#call;
    log.error({ method, err: error }, "how a call ended could not be kept for its key");
  }

  #warn(sentence: string, err?: unknown): void {
    const { log, method } = this.#call;
    const { leaseMs } = this.#ledger;
    log.warn({ method, leaseMs, ...(err === undefined ? {} : { err }) }, sentence);
  }

  /** The same as `#write`; rejects where NATS takes too long for it. */
  #attempt(write: Write): Promise<boolean> {
    // By the clock of the machine, because NATS knows no other.
    return withTimeout(systemClock, this.#attemptMs, this.#write(write), silence);
  }

  /** Writes while the key is still ours; false when it surely is not any more. */
  async #write(write: Write): Promise<boolean> {
    // Of its own: attempts that were given up may still be under way, and each may only replace what it has seen.
    let revision = this.#revision;
    for (;;) {
      const written = await revisionOf(write(revision));
      if (written !== undefined) {
        this.#revision = Math.max(this.#revision, written);
        return true;
      }
      const entry = await this.#ledger.bucket.get(this.#name);
      if (entry === null && revision !== gone) {
        revision = gone;
        continue;
      }
      const note = entry === null ? undefined : noteIn(entry);
      const isOurs = note?.by === this.#note.by;
      // A node that lags behind tells of what was before, and so does an engine that lost its last writes.
      if (entry === null || entry.revision <= revision) {
        if (entry !== null && isOurs) this.#revision = entry.revision;
        throw new Error("NATS told of an older state of the key");
      }
      if (!isOurs) return false;
      // It was stored, and only its confirmation was lost.
      if (note.reply !== undefined) return true;
      revision = entry.revision;
    }
  }
}

const takenOver = "an idempotency key was taken over while its call runs: it may run twice";
/** Kept in place of an answer that NATS does not take: the call must not run again for that. */
const tooLong = JSON.stringify({
  error: {
    code: ErrorCode.ReplyTooLarge,
    message: "Reply too large",
    data: "the call has run, and its answer was too long to be kept for its key",
  },
});

/** Another attempt would end in the same way. */
function isHopeless(error: unknown): boolean {
  const { name } = error as Error;
  return name === "ClosedConnectionError" || name === "DrainingConnectionError";
}

/** Whether a call still runs, at the one that is named. */
export function isHeldBy(entry: KvEntry, by: string): boolean {
  const note = noteIn(entry);
  return note !== undefined && note.reply === undefined && note.by === by;
}

function noteIn(entry: KvEntry): Note | undefined {
  return entry.operation === "PUT" ? entry.json<Note>() : undefined;
}
