import { redactedText } from "./line.ts";
import { clockOf, type Span } from "./moment.ts";

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
