/** The longest that a timer takes. */
const longestMs = 2 ** 31 - 1;

/** Refuses what is no integer between two numbers. */
export function requireInteger(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new TypeError(`${name} is an integer from ${least} to ${most}, not ${value}`);
}

/** Refuses what is no time that can be waited for. */
export function requireMs(name: string, value: number, least: number): void {
  if (typeof value === "number" && value >= least && value <= longestMs) return;
  throw new TypeError(`${name} is a number of milliseconds from ${least} up, not ${value}`);
}
