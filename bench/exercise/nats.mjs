/** Calls from the candidate's own process to a worker in it, through nats-server; every result is checked. */

import { memoryNow, memoryOverCalls } from "../memory.mjs";
import { keepInFlight } from "./in-flight.mjs";

const kibibyte = "callwire".repeat(128);

export async function prepare({ add, echo }, workload) {
  const inFlight = Number(/(\d+) in flight/.exec(workload)[1]);
  const one = workload.startsWith("echo")
    ? async () => (await echo(kibibyte)) === kibibyte
    : async (i) => (await add(i, 2)) === i + 2;
  const checked = async (i) => {
    if (!(await one(i))) throw new Error("wrong result");
  };
  await checked(40);
  return (ms) => keepInFlight(inFlight, ms, checked);
}

export async function memory(candidate, { items, workload }) {
  return memoryOverCalls(await prepare(candidate, workload), memoryNow, items);
}
