import { printable } from "callwire";

/** Says something on standard error that is no result, in one line; it may hold what a server said. */
export function notice(sentence: string): void {
  console.error(`callwire: ${printable(sentence)}`);
}
