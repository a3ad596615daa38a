import { LateError } from "../../../protocol/clock.ts";
import type { KV } from "./client-library.ts";
import { attemptMs } from "./outage.ts";
import { revisionOf } from "./revision.ts";

/**
 * Writes a key that is not there yet, and says whether it stands there with this mark. Of several who write the same key,
 * one does: that holds also in a bucket of several replicas, where nats-server 2.9 confirms several that replace the
 * same revision.
 */
export async function created(
  bucket: Pick<KV, "put" | "get">,
  name: string,
  mark: string,
): Promise<boolean> {
  const write = bucket.put(name, mark, { previousSeq: 0, timeout: attemptMs });
  if ((await revisionOf(write)) !== undefined) return true;
  // It may have been stored before, and only the confirmation was lost.
  const entry = await bucket.get(name);
  if (entry === null) throw new LateError("a node of NATS lags behind, and does not have it yet");
  return entry.string() === mark;
}
