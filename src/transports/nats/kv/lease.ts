import { type Clock, systemClock, type Timer } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode } from "../../../protocol/errors.ts";
import type { ErrorObject, TypedPaths } from "../../../protocol/message.ts";
import { withTimeout } from "../../../protocol/waiting.ts";
import { isTooLarge } from "../connection.ts";
import { type BucketRetry, type KV, type KvEntry, lateMessage, revisionOf } from "./bucket.ts";

/** The value of a key: a call that runs, or its answer. */
export interface Note {
  /** Hash of method and params. */
  readonly of: string;
  /** Id of the run. */
  readonly by: string;
  readonly reply?: {
    readonly result?: unknown;
    readonly error?: ErrorObject;
    readonly types?: TypedPaths;
  };
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

/** A key that is held for a call until one of these is called. Both resolve after the first attempt to write; if that failed, more follow. */
export interface Lease {
  /** Stores the answer, as JSON. */
  answer(reply: string): Promise<void>;
  /** Deletes the key, so that the next call with it runs. */
  release(): Promise<void>;
}

/** Holds a key while its call runs, by writing it at intervals. */
export function holdKey(
  settings: LeaseSettings,
  held: { readonly name: string; readonly note: Note; readonly revision: number },
  call: Pick<Context, "signal" | "log" | "method">,
): Lease {
  const { bucket, leaseMs, clock } = settings;
  const { name, note } = held;
  const { log, method, signal } = call;
  const attemptMs = Math.min(longestAttemptMs, leaseMs / attempts);
  let lastRevision = held.revision;
  let timer: Timer | undefined;
  let renewing: Promise<void> | undefined;
  let abortedAt: number | undefined;

  const put = (reply: string | undefined, revision: number): Promise<number> => {
    const running = JSON.stringify(note);
    const text = reply === undefined ? running : `${running.slice(0, -1)},"reply":${reply}}`;
    return revision === missing ? bucket.create(name, text) : bucket.update(name, text, revision);
  };

  /** Writes while the key is ours, and returns false if it no longer is. */
  const writeOwn = async (write: Write): Promise<boolean> => {
    // A late attempt may still be under way, and each may only replace the revision that it has seen.
    let revision = lastRevision;
    for (;;) {
      const written = await revisionOf(write(revision));
      if (written !== undefined) {
        lastRevision = Math.max(lastRevision, written);
        return true;
      }
      const entry = await bucket.get(name);
      if (entry === null && revision !== missing) {
        revision = missing;
        continue;
      }
      const found = entry === null ? undefined : noteIn(entry);
      const isOurs = found?.by === note.by;
      // From a node that lags behind, or a nats-server that lost its last writes.
      if (entry === null || entry.revision <= revision) {
        if (entry !== null && isOurs) lastRevision = entry.revision;
        throw new Error("NATS returned an older revision of the key");
      }
      if (!isOurs) return false;
      // It was stored, and only the confirmation was lost.
      if (found.reply !== undefined) return true;
      revision = entry.revision;
    }
  };
  const attempt = (write: Write): Promise<boolean> =>
    withTimeout(systemClock, attemptMs, writeOwn(write), lateMessage);

  const renewIn = (ms: number): void => {
    timer = clock.after(ms, () => {
      renewing = renew();
    });
  };
  const renew = async (): Promise<void> => {
    const current = timer;
    // A cancelled method that never ends must not keep its key forever.
    if (signal.aborted) abortedAt ??= clock.elapsed();
    if (abortedAt !== undefined && clock.elapsed() - abortedAt >= lingerMs) return;
    let nextMs = leaseMs / renewals;
    try {
      if (!(await attempt((revision) => put(undefined, revision)))) {
        log.warn({ method, leaseMs }, takenOver);
        return;
      }
    } catch {
      nextMs = attemptMs;
    }
    // Unless it was finished meanwhile.
    if (timer === current) renewIn(nextMs);
  };

  /** Tries until it is written: no other process knows how the call ended. */
  const writeLast = async (write: Write, warning: string | undefined, attempted: () => void) => {
    await renewing;
    const end = clock.elapsed() + lingerMs;
    for (let isFirst = true; ; isFirst = false) {
      try {
        const isOurs = await attempt(write);
        if (!isOurs && warning !== undefined) log.warn({ method, leaseMs }, warning);
        return attempted();
      } catch (err) {
        attempted();
        if (isClosed(err) || clock.elapsed() >= end) {
          log.error({ method, err }, "could not store the result under its idempotency key");
          return;
        }
        const message = "could not yet store the result under its idempotency key";
        if (isFirst) log.warn({ method, leaseMs, err }, message);
      }
      await new Promise<void>((resolve) => clock.after(attemptMs, resolve));
    }
  };
  const finish = (write: Write, warning?: string): Promise<void> => {
    timer?.cancel();
    timer = undefined;
    return new Promise((resolve) => void writeLast(write, warning, resolve));
  };

  renewIn(leaseMs / renewals);
  return {
    answer: (reply) =>
      finish(async (revision) => {
        try {
          return await put(reply, revision);
        } catch (error) {
          if (!isTooLarge(error)) throw error;
          return await put(tooLongReply, revision);
        }
      }, takenOver),
    release: () =>
      finish(async (revision) => {
        if (revision !== missing) await bucket.delete(name, { previousSeq: revision });
        return revision;
      }),
  };
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
