/** Whether memory grows with the calls that were made. */

const sliceMs = 200;

/** Collects what is garbage and tells what is left; needs `--expose-gc`. */
export function collected() {
  globalThis.gc();
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss };
}

/**
 * Makes at least `calls` calls, slice by slice. Gives the heap after a tenth of them, when all is compiled,
 * and at the end, and the most resident memory between two slices.
 */
export async function memoryOverCalls(run, look, calls) {
  let items = 0;
  let before;
  let rssPeak = 0;
  const start = performance.now();
  while (items < calls) {
    items += await run(sliceMs);
    const { heap, rss } = await look();
    if (before === undefined && items >= calls / 10) before = { heap, rss };
    rssPeak = Math.max(rssPeak, rss);
    if (items >= calls) {
      const perSecond = items / ((performance.now() - start) / 1000);
      const { heap: heapBefore, rss: rssBefore } = before;
      return { items, unit: "calls", perSecond, heapBefore, heapAfter: heap, rssBefore, rssPeak };
    }
  }
}
