/**
 * Returns a function that repeats rounds for this many milliseconds, and resolves to how many there
 * were. If rounds are short, the clock is read about every fifth of a millisecond.
 */
export function repeated(run) {
  let rounds = 1;
  return async (ms) => {
    const start = performance.now();
    let done = 0;
    let elapsed = 0;
    while (elapsed < ms) {
      await run(rounds);
      done += rounds;
      elapsed = performance.now() - start;
    }
    rounds = Math.max(1, Math.round(done / elapsed / 5));
    return done;
  };
}
