import { redactedText } from "./line.ts";

/** A place where a reply is not what it was. */
export interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly now: unknown;
}

type Ignores = (path: readonly string[]) => boolean;

const isoDate = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/;

/** Where two values differ; times may, secrets and ignored places too. */
export function differences(
  before: unknown,
  now: unknown,
  ignores: Ignores,
  path: readonly string[],
): Difference[] {
  if (Object.is(before, now) || before === redactedText || ignores(path)) return [];
  if (isTime(before) && isTime(now) && typeof before === typeof now) return [];
  if (!isObject(before) || !isObject(now) || Array.isArray(before) !== Array.isArray(now)) {
    return [{ path: path.join("."), before, now }];
  }
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  return [...names].flatMap((name) =>
    differences(before[name], now[name], ignores, [...path, name]),
  );
}

/** Places as `result.*.id`; whatever is below them is ignored, too. */
export function ignoring(paths: readonly string[]): Ignores {
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

/** A date, or a number that counts seconds or milliseconds to a day of this century. */
function isTime(value: unknown): boolean {
  if (typeof value === "string") return isoDate.test(value);
  if (typeof value !== "number") return false;
  const ms = value >= 1e12 ? value : value * 1000;
  return ms >= 1.2e12 && ms < 4.2e12;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
