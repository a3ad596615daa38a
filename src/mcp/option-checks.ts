/** Refuses bounds that are none: of NaN, such as from a setting that is missing, nothing is ever too much. */
export function mustBeBounds(options: Readonly<Record<string, number | undefined>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || (typeof value === "number" && value >= 1)) continue;
    throw new TypeError(`${name} is a number of at least 1, not ${value}`);
  }
}
