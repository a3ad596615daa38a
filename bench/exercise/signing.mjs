/** Verifies the same signatures again and again, or takes one nonce after the other. */

export async function prepare(candidate, workload) {
  const take = await candidate[workload]();
  // The first answer proves itself; later ones are of the same kind.
  for (let i = 0; i < 3; i++) await take();
  let rounds = 1;
  return async (ms) => {
    const start = performance.now();
    let done = 0;
    let elapsed = 0;
    while (elapsed < ms) {
      for (let i = 0; i < rounds; i++) {
        const answer = take();
        if (answer instanceof Promise) await answer;
      }
      done += rounds;
      elapsed = performance.now() - start;
    }
    // The clock is read about every fifth of a millisecond, where the calls are that short.
    rounds = Math.max(1, Math.round(done / elapsed / 5));
    return done;
  };
}

/** What many nonces take: the heap, and the arrays beside it. */
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
