/** Whether memory grows with the calls that were made. */

const sliceMs = 1000;

/**
 * The memory of this process; the heap is measured after a garbage collection, which needs
 * `--expose-gc`.
 */
export function memoryNow({ collect }) {
  if (collect) globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss };
}

/**
 * Makes at least `calls` calls, slice by slice. Returns the heap after a tenth of them, when
 * everything is compiled, and at the end, and the most resident memory between two slices.
 */
export async function memoryOverCalls(run, look, calls) {
  const start = performance.now();
  let rssPeak = 0;
  let items = 0;
  const upTo = async (count) => {
    while (items < count) {
      items += await run(sliceMs);
      const { rss } = await look({ collect: false });
      rssPeak = Math.max(rssPeak, rss);
    }
    return look({ collect: true });
  };
  const before = await upTo(calls / 10);
  const after = await upTo(calls);
  return {
    items,
    unit: "calls",
    perSecond: items / ((performance.now() - start) / 1000),
    heapBefore: before.heap,
    heapAfter: after.heap,
    rssBefore: before.rss,
    rssPeak,
  };
}
