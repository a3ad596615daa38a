import type { Timer } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { ErrorCode, RpcError } from "../../../protocol/errors.ts";
import { requestMs } from "../connection.ts";
import { type KvEntry, revisionOf } from "./bucket.ts";
import { isRunningAt, type LeaseSettings, missing, type Note } from "./lease.ts";

/** A sign older than this many leases counts as expired, whatever clock dated it. */
const mostLeases = 6;

/**
 * Claims a key for a call. Resolves with the revision at which the call holds the key, or with the answer that is stored under it; waits
 * while another worker runs the call.
 */
export async function claim(
  settings: LeaseSettings,
  { name, note: own }: { readonly name: string; readonly note: Note },
  call: Context,
): Promise<number | NonNullable<Note["reply"]>> {
  const { bucket, retry } = settings;
  /** Undefined if the key has another revision. */
  const write = (previousSeq: number): Promise<number | undefined> =>
    revisionOf(bucket.put(name, JSON.stringify(own), { previousSeq, timeout: requestMs }));
  let failingSince: number | undefined;
  /** Undefined if the call still runs, or the key changed. */
  const takeOver = async (entry: KvEntry, by: string): Promise<number | undefined> => {
    try {
      const revision = await expiredRevision(settings, entry, by, call.signal);
      failingSince = undefined;
      return revision === undefined ? undefined : await write(revision);
    } catch (error) {
      // Then it starts again: after an outage the other worker needs time for a sign first.
      failingSince ??= performance.now();
      await retry.wait(error, failingSince, call);
      return undefined;
    }
  };
  for (let previous = missing; ; ) {
    const revision = await retry.run(() => write(previous), call);
    if (revision !== undefined) return revision;
    previous = missing;
    const entry = await retry.run(() => bucket.get(name), call);
    if (entry === null) continue;
    if (entry.operation !== "PUT") {
      // Another worker released the key.
      previous = entry.revision;
      continue;
    }
    const note = entry.json<Note>();
    if (note.of !== own.of) {
      throw new RpcError(ErrorCode.InvalidRequest, "Invalid Request", {
        details: "this idempotency key belongs to another call",
      });
    }
    if (note.reply !== undefined) return note.reply;
    if (note.by === own.by) {
      // Only the confirmation was lost. The write may be old, so the call gives a new sign before it runs.
      previous = entry.revision;
      continue;
    }
    const taken = await takeOver(entry, note.by);
    if (taken !== undefined) return taken;
  }
}

/**
 * Waits for the end of a call that another worker runs. Resolves with the revision of its last sign if no more follow, so that the key can
 * be taken over, and otherwise with undefined. Rejects when the caller cancels.
 */
async function expiredRevision(
  settings: LeaseSettings,
  entry: KvEntry,
  by: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { bucket, retry, clock, leaseMs } = settings;
  const half = leaseMs / 2;
  signal.throwIfAborted();
  const watch = await bucket.watch({ key: entry.key });
  const stop = (): void => watch.stop();
  let last: number | undefined;
  let timer: Timer | undefined;
  let isExpired = false;
  /** A lease expires after the last sign; half of it must pass while the bucket has a leader, as without one no worker can give a sign. */
  const renew = ({ revision, created }: KvEntry): void => {
    timer?.cancel();
    last = revision;
    const awaitLeader = async (): Promise<void> => {
      try {
        while (!(await retry.hasLeader())) if (last !== revision) return;
      } catch {
        // The bucket was deleted; the next request reports that.
        return stop();
      }
      if (last !== revision) return;
      timer = clock.after(half, () => {
        isExpired = true;
        stop();
      });
    };
    // Time counts from when the sign is seen here, so that clocks that differ take nothing over early. Only a much older sign counts from
    // its date, for callers that never wait that long.
    const leftMs = created.getTime() + leaseMs * mostLeases - clock.now();
    timer = clock.after(Math.max(0, Math.min(half, leftMs - half)), () => void awaitLeader());
  };
  renew(entry);
  signal.addEventListener("abort", stop, { once: true });
  try {
    if (signal.aborted) stop();
    for await (const next of watch) {
      if (next.revision === last) continue;
      if (!isRunningAt(next, by)) return undefined;
      renew(next);
    }
    signal.throwIfAborted();
    // The watch may also have ended with its connection.
    return isExpired ? last : undefined;
  } finally {
    timer?.cancel();
    last = undefined;
    signal.removeEventListener("abort", stop);
    stop();
  }
}
