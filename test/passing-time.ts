import type { FakeClock } from "callwire/testing";

/** The outcome of a promise while time passes, this much in each turn of the loop. */
export async function whileTimePasses<T>(
  clock: FakeClock,
  stepMs: number,
  coming: Promise<T>,
): Promise<T> {
  let over = false;
  const end = (): void => {
    over = true;
  };
  coming.then(end, end);
  while (!over) {
    clock.advance(stepMs);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return coming;
}
