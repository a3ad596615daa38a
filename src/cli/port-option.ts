import { Failure } from "./failure.ts";

/** The port that a flag names. */
export function portOf(flag: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (port <= 65_535) return port;
  throw new Failure(`${flag} is a number from 0 to 65535, not ${JSON.stringify(text)}`);
}
