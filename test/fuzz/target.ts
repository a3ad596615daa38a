import type { Random } from "./random.ts";

/**
 * Something that reads what strangers send, with a generator of inputs and what must hold for each.
 * Inputs are JSON, so that the corpus can store them; bytes are strings of Latin-1.
 */
export interface FuzzTarget<Input = unknown> {
  /** What must hold for every input, in one sentence. */
  readonly holds: string;
  /** How many inputs take about a quarter of a second; `npm test` tries these. */
  readonly briefly: number;
  /** Inputs that are checked at the same time, for checks that wait. @default 1 */
  readonly atOnce?: number;
  /** What `check` can return. A brief run must reach all of it, or it does not test what it should. */
  readonly reaches: readonly string[];
  generate(random: Random): Input;
  /** Returns what the input reached; throws if something does not hold. */
  check(input: Input): string | Promise<string>;
}

/** Keeps the type of the inputs between `generate` and `check`. */
export function fuzzTarget<Input>(target: FuzzTarget<Input>): FuzzTarget {
  return target as FuzzTarget;
}

/** Fails the input. */
export function broken(what: string, details: unknown): never {
  throw new Error(`${what}\n${JSON.stringify(details, undefined, 2)}`);
}
