/** When something was begun and when it was over, in milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Clocks of two machines differ, and so do a time that was taken and the reply that tells it. */
const slackMs = 5 * 60_000;

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const isoDay = /^\d{4}-\d\d-\d\d$/;

/** How a value tells the time of a span; undefined where it is some other time, or none. */
export function clockOf(value: unknown, span: Span): "time" | "day" | "s" | "ms" | undefined {
  const isIn = (ms: number, slack = slackMs): boolean =>
    ms >= span.from - slack && ms <= span.to + slack;
  if (typeof value === "number") {
    return isIn(value) ? "ms" : isIn(value * 1000) ? "s" : undefined;
  }
  if (typeof value !== "string") return undefined;
  // Around the world a day has 50 hours.
  const noon = Date.parse(`${value}T12:00:00Z`);
  if (isoDay.test(value)) return isIn(noon, 26 * 3_600_000) ? "day" : undefined;
  const match = isoTime.exec(value);
  if (match === null) return undefined;
  // Without a zone it is the time of here, or of Greenwich.
  const read = match[1] === undefined ? [value, `${value}Z`] : [value];
  return read.some((text) => isIn(Date.parse(text))) ? "time" : undefined;
}
