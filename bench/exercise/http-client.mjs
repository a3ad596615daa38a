/** A fixed number of calls in flight from the candidate's own process, every sum checked. */
import { keepInFlight } from "./in-flight.mjs";

/** The workload may say how many, such as "1 in flight". */
export async function prepare(call, workload) {
  const inFlight = Number(/(\d+) in flight/.exec(workload)?.[1] ?? 64);
  for (const [a, b] of [
    [1, 2],
    [20, 22],
  ]) {
    const sum = await call(a, b);
    if (sum !== a + b) throw new Error(`wrong sum of ${a} and ${b}: ${sum}`);
  }
  const one = async (a) => {
    if ((await call(a, 2)) !== a + 2) throw new Error("wrong sum");
  };
  return (ms) => keepInFlight(inFlight, ms, one);
}
