import { createHash } from "node:crypto";
import type { KV } from "@nats-io/kv";
import { systemClock } from "../../../protocol/clock.ts";
import type { Context } from "../../../protocol/context.ts";
import { LateError, pause, withTimeout } from "../../../protocol/waiting.ts";
import { electionPatienceMs, isForbidden, isTemporary, requestMs } from "../connection.ts";

/** The types of NATS's client for key-value buckets; the bucket itself is passed in. */
export type { KV, KvEntry } from "@nats-io/kv";

export const lateMessage = "NATS did not answer in time";
const pollMs = 100;
/** After this time a failed request is tried again, whatever nats-server reports about the bucket. */
const retryMs = 1_000;

/** JetStream's error codes for a conditional write that expected another revision. */
const otherRevisionCodes: readonly unknown[] = [10_071, 10_164];

/** The key for a string of a caller, which NATS might not accept as a key, or which might be very long. */
export function keyName(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}

/** The revision of a conditional write, or undefined if the key has another revision than expected. */
export async function revisionOf(write: Promise<number>): Promise<number | undefined> {
  try {
    return await write;
  } catch (error) {
    if (otherRevisionCodes.includes((error as { code?: unknown }).code)) return undefined;
    throw error;
  }
}

/** Creates a key with this value, unique to the writer. Returns false if another writer was first. */
export async function createKey(
  bucket: Pick<KV, "put" | "get">,
  name: string,
  value: string,
): Promise<boolean> {
  const write = bucket.put(name, value, { previousSeq: 0, timeout: requestMs });
  if ((await revisionOf(write)) !== undefined) return true;
  // It may have been stored before, and only the confirmation was lost.
  const entry = await bucket.get(name);
  if (entry === null)
    throw new LateError("a node of NATS lags behind and does not have the key yet");
  return entry.string() === value;
}

/** Retries requests while a bucket has no leader, because a cluster elects one or nats-server restarts. */
export class BucketRetry {
  readonly #bucket: Pick<KV, "status">;
  #polling: Promise<boolean> | undefined;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(bucket: Pick<KV, "status">) {
    this.#bucket = bucket;
  }

  /** Runs a request until it succeeds or fails for good. The request may take effect several times. */
  async run<T>(request: () => Promise<T>, call?: Pick<Context, "log" | "signal">): Promise<T> {
    const start = performance.now();
    for (;;) {
      call?.signal.throwIfAborted();
      try {
        return await withTimeout(systemClock, requestMs, request(), lateMessage);
      } catch (error) {
        await this.wait(error, start, call);
      }
    }
  }

  /** Resolves when a failed request should be tried again; rejects with the failure if that makes no sense, or takes too long. */
  async wait(failure: unknown, since: number, call?: Pick<Context, "log">): Promise<void> {
    const now = performance.now();
    if (!isTemporary(failure) || now - since > electionPatienceMs) throw failure;
    if (call !== undefined && now - this.#loggedAt > electionPatienceMs) {
      this.#loggedAt = now;
      call.log.warn({ err: failure }, "NATS bucket does not answer; calls that need it wait");
    }
    await Promise.race([this.hasLeader(), pause(retryMs)]);
  }

  /** Whether the bucket has a leader; rejects if the bucket does not exist. Concurrent callers share one request. */
  hasLeader(): Promise<boolean> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = undefined;
    });
    return this.#polling;
  }

  async #poll(): Promise<boolean> {
    await pause(pollMs);
    try {
      const status = withTimeout(systemClock, requestMs, this.#bucket.status(), lateMessage);
      const { cluster } = (await status).streamInfo;
      // The remaining nodes may describe a bucket that lost its leader.
      return cluster === undefined || Boolean(cluster.leader);
    } catch (error) {
      if (isTemporary(error)) return false;
      // A user that may not ask can still try.
      if (isForbidden(error)) return true;
      throw error;
    }
  }
}
