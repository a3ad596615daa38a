/** Verifies the same signatures repeatedly, or takes one nonce after the other. */
import { repeated } from "./rounds.mjs";

export async function prepare(candidate, workload) {
  const take = await candidate[workload]();
  // The first answer is verified; later ones are of the same kind.
  for (let i = 0; i < 3; i++) await take();
  return repeated(async (rounds) => {
    for (let i = 0; i < rounds; i++) {
      const answer = take();
      if (answer instanceof Promise) await answer;
    }
  });
}

/** The memory of many nonces: the heap, and the arrays outside of it. */
export async function memory(candidate, { items }) {
  globalThis.gc();
  const before = process.memoryUsage();
  const kept = candidate.fill(items);
  globalThis.gc();
  const after = process.memoryUsage();
  if (kept() !== items) throw new Error("nonces are missing");
  return {
    items,
    heapBefore: before.heapUsed + before.external,
    heapAfter: after.heapUsed + after.external,
    rssBefore: before.rss,
    rssPeak: after.rss,
  };
}
