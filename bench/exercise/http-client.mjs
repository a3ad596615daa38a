/** A fixed number of calls in flight from the candidate's own process, every sum checked. */

const inFlight = 64;

export async function prepare(call) {
  for (const [a, b] of [
    [1, 2],
    [20, 22],
  ]) {
    const sum = await call(a, b);
    if (sum !== a + b) throw new Error(`wrong sum of ${a} and ${b}: ${sum}`);
  }
  return async (ms) => {
    let calls = 0;
    let over = false;
    setTimeout(() => {
      over = true;
    }, ms);
    async function keepCalling() {
      while (!over) {
        const a = calls++;
        if ((await call(a, 2)) !== a + 2) throw new Error("wrong sum");
      }
    }
    await Promise.all(Array.from({ length: inFlight }, keepCalling));
    return calls;
  };
}
