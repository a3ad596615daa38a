/** Refuses what is no length of time, which one wire would take for none and another for no limit. */
export function mustBeTimeout(timeoutMs: number | undefined): void {
  if (timeoutMs !== undefined && Math.max(0, timeoutMs) !== timeoutMs) {
    throw new TypeError(`timeoutMs is a number of at least 0, not ${timeoutMs}`);
  }
}
