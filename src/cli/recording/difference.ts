import { redactedText } from "./recorder.ts";

/** A place where a reply is not what it was. */
export interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly now: unknown;
}

/** What may differ without being told. */
export interface Tolerance {
  readonly ignores: (path: readonly string[]) => boolean;
  /** When each of the two was said: what tells the time of that may differ. */
  readonly spoken: { readonly before: Span; readonly now: Span } | undefined;
}

/** Where two values differ; the time of each may, secrets and ignored places too. */
export function differences(
  before: unknown,
  now: unknown,
  tolerance: Tolerance,
  path: readonly string[],
): Difference[] {
  if (Object.is(before, now) || before === redactedText || tolerance.ignores(path)) return [];
  if (tellTheirTime(before, now, tolerance.spoken)) return [];
  if (!isObject(before) || !isObject(now) || Array.isArray(before) !== Array.isArray(now)) {
    return [{ path: path.join("."), before, now }];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) =>
    differences(before[name], now[name], tolerance, [...path, name]),
  );
}

/** Places as `result.*.id`; whatever is below them is ignored, too. */
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

function tellTheirTime(before: unknown, now: unknown, spoken: Tolerance["spoken"]): boolean {
  if (spoken === undefined) return false;
  const clock = clockOf(before, spoken.before);
  return clock !== undefined && clock === clockOf(now, spoken.now);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

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
