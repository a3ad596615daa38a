/** Calls from the candidate's own process to a worker in it, by way of the engine; every result is checked. */

import { memoryNow, memoryOverCalls } from "../memory.mjs";

const kibibyte = "callwire".repeat(128);

export async function prepare({ add, echo }, workload) {
  const inFlight = Number(/(\d+) in flight/.exec(workload)[1]);
  const one = workload.startsWith("echo")
    ? async () => (await echo(kibibyte)) === kibibyte
    : async (i) => (await add(i, 2)) === i + 2;
  if (!(await one(40))) throw new Error("wrong result");
  return async (ms) => {
    let calls = 0;
    let over = false;
    setTimeout(() => {
      over = true;
    }, ms);
    async function keepCalling() {
      while (!over) {
        if (!(await one(calls++))) throw new Error("wrong result");
      }
    }
    await Promise.all(Array.from({ length: inFlight }, keepCalling));
    return calls;
  };
}

export async function memory(candidate, { items, workload }) {
  return memoryOverCalls(await prepare(candidate, workload), memoryNow, items);
}
