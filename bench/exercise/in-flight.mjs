/**
 * Keeps this many calls in flight for a while; resolves to how many were made. `one` gets the
 * number of its call.
 */
export async function keepInFlight(count, ms, one) {
  let calls = 0;
  let over = false;
  setTimeout(() => {
    over = true;
  }, ms);
  async function keepCalling() {
    while (!over) await one(calls++);
  }
  await Promise.all(Array.from({ length: count }, keepCalling));
  return calls;
}
