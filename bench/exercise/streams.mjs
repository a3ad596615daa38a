/** Reads a stream in the process that also produces it, and checks the order of its items. */

export async function prepare(open) {
  let next = 0;
  for await (const item of open(10)) {
    if (item !== next++) throw new Error(`wrong item ${item}`);
  }
  if (next !== 10) throw new Error(`${next} items instead of 10`);
  return (ms) => read(open(Number.MAX_SAFE_INTEGER), performance.now() + ms);
}

async function read(stream, until) {
  let items = 0;
  for await (const item of stream) {
    if (item !== items++) throw new Error("an item out of order");
    // The clock is read once in 256 items, since it costs as much as a tenth of one.
    if ((items & 255) === 0 && performance.now() >= until) break;
  }
  return items;
}

/** Heap after a garbage collection, before and after many items, and the most memory in between. */
export async function memory(open, { items }) {
  let read = 0;
  let heapBefore;
  let rssBefore;
  let rssPeak = 0;
  const start = performance.now();
  for await (const item of open(items)) {
    if (item !== read++) throw new Error("an item out of order");
    if (read === Math.floor(items / 10)) {
      globalThis.gc();
      ({ heapUsed: heapBefore, rss: rssBefore } = process.memoryUsage());
    }
    if (read % 10_000 === 0) rssPeak = Math.max(rssPeak, process.memoryUsage.rss());
  }
  globalThis.gc();
  const perSecond = items / ((performance.now() - start) / 1000);
  return {
    items: read,
    perSecond,
    heapBefore,
    heapAfter: process.memoryUsage().heapUsed,
    rssBefore,
    rssPeak,
  };
}
