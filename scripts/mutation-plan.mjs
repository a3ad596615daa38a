// What `npm run mutate` and the vitest process that it starts have to agree on.
import { readFileSync } from "node:fs";

/**
 * @typedef {object} Plan
 * @property {{ file: string, first: number }[]} sources with the number of the first mutant of each
 * @property {number} mutants how many there are
 * @property {number[]} chosen those to try
 * @property {string[]} tests files, in the order in which they try the mutants
 * @property {string} journal where the tests write what they find
 *
 * What the journal says, a line each: a trial began, how it ended, that a process gave up because a mutant had
 * broken it, and that a test file has tried everything.
 * @typedef {(
 *   | { began: number, test: string, pid: number }
 *   | { survived: number, test: string }
 *   | { caught: number, test: string, by: string }
 *   | { left: string }
 *   | { done: string, unusable: string[] }
 * )} Entry
 */

/** The name of the variable that has the path of the plan. */
export const planVariable = "CALLWIRE_MUTATION_PLAN";

/** @returns {Plan} */
export function readPlan() {
  return JSON.parse(readFileSync(process.env[planVariable] ?? "", "utf8"));
}

/** @param {string} path @returns {Entry[]} */
export function readJournal(path) {
  const text = readFileSync(path, "utf8");
  // The last line may be half written.
  const lines = text.slice(0, text.lastIndexOf("\n") + 1).split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line));
}
