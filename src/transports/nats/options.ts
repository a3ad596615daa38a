/** Longest delay of a timer. */
const longestMs = 2 ** 31 - 1;

export function requireInteger(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return;
  throw new TypeError(`"${name}" must be an integer from ${least} to ${most}, not ${value}`);
}

export function requireMs(name: string, value: number, least: number): void {
  if (typeof value === "number" && value >= least && value <= longestMs) return;
  throw new TypeError(
    `"${name}" must be a number of milliseconds from ${least} to ${longestMs}, not ${value}`,
  );
}

/** Throws unless the value can be the prefix of subjects for methods. */
export function requireSubject(value: string): void {
  if (typeof value === "string" && /^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/.test(value)) return;
  throw new TypeError(
    `"subject" must be words of letters, digits, - and _, separated by dots, not "${value}"`,
  );
}
