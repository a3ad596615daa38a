import { invalid } from "./failure.ts";

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 };

/** A time such as 500ms, 5s or 2m, in milliseconds. The unit is required, because readers would take 5 for either. */
export function durationOf(option: string, text: string): number {
  const [, number, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m)$/.exec(text) ?? [];
  const ms = Number(number) * (units[unit] ?? Number.NaN);
  // Timers of Node do not take more.
  if (ms > 0 && ms < 2 ** 31) return ms;
  throw invalid(option, "a time such as 500ms, 5s or 2m", text);
}
