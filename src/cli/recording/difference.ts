import { redactedText } from "./recorder.ts";

export interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly now: unknown;
}

export interface Tolerance {
  readonly ignores: (path: readonly string[]) => boolean;
  /** The times of both replies; values that show these times may differ. */
  readonly times: { readonly before: Span; readonly now: Span } | undefined;
}

/** The differences between two values, except those that the tolerance allows. */
export function differences(
  before: unknown,
  now: unknown,
  tolerance: Tolerance,
  path: readonly string[],
): Difference[] {
  if (Object.is(before, now) || before === redactedText || tolerance.ignores(path)) return [];
  if (showTheirTime(before, now, tolerance.times)) return [];
  if (!isObject(before) || !isObject(now) || Array.isArray(before) !== Array.isArray(now)) {
    return [{ path: path.join("."), before, now }];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) =>
    differences(before[name], now[name], tolerance, [...path, name]),
  );
}

/** Paths such as `result.*.id`; everything below them is ignored too. */
export function ignoring(paths: readonly string[]): Tolerance["ignores"] {
  const all = paths.map((path) =>
    path
      .replace(/\[(\d+|\*)\]/g, ".$1")
      .split(".")
      .filter((step) => step !== ""),
  );
  return (path) =>
    all.some(
      (steps) =>
        steps.length > 0 &&
        steps.every((step, i) => (step === "*" ? i < path.length : step === path[i])),
    );
}

function showTheirTime(before: unknown, now: unknown, times: Tolerance["times"]): boolean {
  if (times === undefined) return false;
  const clock = clockOf(before, times.before);
  return clock !== undefined && clock === clockOf(now, times.now);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Tolerance for clocks of different machines, and for delayed replies. */
const slackMs = 5 * 60_000;

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?$/;
const isoDay = /^\d{4}-\d\d-\d\d$/;

/** The format in which a value shows a time within the span; undefined if it does not. */
function clockOf(value: unknown, span: Span): "time" | "day" | "s" | "ms" | undefined {
  const isIn = (ms: number, slack = slackMs): boolean =>
    ms >= span.from - slack && ms <= span.to + slack;
  if (typeof value === "number") {
    return isIn(value) ? "ms" : isIn(value * 1000) ? "s" : undefined;
  }
  if (typeof value !== "string") return undefined;
  // Including all time zones, a day has 50 hours.
  const noon = Date.parse(`${value}T12:00:00Z`);
  if (isoDay.test(value)) return isIn(noon, 26 * 3_600_000) ? "day" : undefined;
  const match = isoTime.exec(value);
  if (match === null) return undefined;
  // Without a zone it is local time or UTC.
  const read = match[1] === undefined ? [value, `${value}Z`] : [value];
  return read.some((text) => isIn(Date.parse(text))) ? "time" : undefined;
}
