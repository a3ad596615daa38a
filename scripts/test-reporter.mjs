// The reporter of `npm test`: progress while the tests run, each failure in words as it happens, and
// the figures for the summary in .cache/tests.json.
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";

const root = fileURLToPath(new URL("..", import.meta.url));
export const reportFile = join(root, ".cache", "tests.json");
/** How often progress is shown, if the output is not a terminal. */
const progressEveryMs = 15_000;
/** A file that has run this long is named, since it may be one that hangs. */
const longMs = 30_000;

/**
 * @typedef {{ passed: number, failed: number, skipped: number, failures: string[], leftOut: [string, number][] }} TestReport
 *
 * @typedef {import("vitest/node").TestCase} TestCase
 * @typedef {import("vitest/node").TestModule} TestModule
 */

export default class TestReporter {
  #started = 0;
  #files = 0;
  #doneFiles = 0;
  #passed = 0;
  #skipped = 0;
  /** @type {string[]} */
  #failures = [];
  /** How many tests of a suite were skipped; its title, or the note of a test, gives the reason. @type {Map<string, number>} */
  #leftOut = new Map();
  /** When each file that runs was started. @type {Map<string, number>} */
  #running = new Map();
  /** The tests that run now, by their files. @type {Map<string, Set<string>>} */
  #tests = new Map();
  /** @type {ReturnType<typeof setInterval> | undefined} */
  #timer;

  /** @param {readonly unknown[]} specifications */
  onTestRunStart(specifications) {
    this.#started = performance.now();
    this.#files = specifications.length;
    console.log(`${this.#files} files`);
    const everyMs = process.stdout.isTTY ? 1_000 : progressEveryMs;
    this.#timer = setInterval(() => this.#showProgress(), everyMs);
  }

  /** @param {TestModule} module */
  onTestModuleStart(module) {
    this.#running.set(fileOf(module), performance.now());
  }

  /** @param {TestCase} test */
  onTestCaseReady(test) {
    this.#testsOf(fileOf(test.module)).add(test.fullName);
  }

  /** @param {TestCase} test */
  onTestCaseResult(test) {
    const { state, errors } = test.result();
    this.#testsOf(fileOf(test.module)).delete(test.fullName);
    if (state === "passed") this.#passed++;
    else if (state === "failed") this.#fail(`${fileOf(test.module)} > ${test.fullName}`, errors);
    else {
      this.#skipped++;
      const { note } = /** @type {{ note?: string }} */ (test.result());
      const [suite = test.name] = test.fullName.split(" > ");
      // A suite that was skipped as a whole says why in its title; other tests are listed one by one.
      const isWhole = note === undefined && /\[without |\(needs |SKIPPED/.test(suite);
      const title = isWhole ? suite : `${test.fullName}${note === undefined ? "" : ` [${note}]`}`;
      this.#leftOut.set(title, (this.#leftOut.get(title) ?? 0) + 1);
    }
  }

  /** @param {import("vitest/node").TestSuite} suite */
  onTestSuiteResult(suite) {
    // The errors of a suite are those of its hooks; the tests report their own.
    const errors = suite.errors();
    if (errors.length > 0) this.#fail(`${fileOf(suite.module)} > ${suite.fullName}`, errors);
  }

  /** @param {TestModule} module */
  onTestModuleEnd(module) {
    this.#doneFiles++;
    this.#running.delete(fileOf(module));
    const errors = module.errors();
    if (errors.length > 0) this.#fail(fileOf(module), errors);
  }

  /**
   * @param {readonly unknown[]} _modules
   * @param {readonly import("vitest/node").SerializedError[]} unhandled
   */
  onTestRunEnd(_modules, unhandled) {
    clearInterval(this.#timer);
    this.#showProgress();
    if (process.stdout.isTTY) process.stdout.write("\n");
    const cutOff = [...this.#running.keys()];
    for (const file of cutOff) {
      const tests = [...this.#testsOf(file)].map((test) => `"${test}"`).join(" and ");
      const when = tests === "" ? "before its tests did" : `while it ran ${tests}`;
      const message = `the process that ran this file ended ${when}`;
      this.#fail(file, [{ name: "Error", message }]);
    }
    for (const error of unhandled) {
      // The files above say it with their names.
      if (cutOff.length > 0 && /Worker (exited|forks)/.test(error.message)) continue;
      const { VITEST_TEST_PATH: file, VITEST_TEST_NAME: test } = /** @type {any} */ (error);
      const place = file === undefined ? "outside of any test" : relative(root, file);
      this.#fail(test === undefined ? place : `${place}, during or after "${test}"`, [error]);
    }
    /** @type {TestReport} */
    const report = {
      passed: this.#passed,
      failed: this.#failures.length,
      skipped: this.#skipped,
      failures: this.#failures,
      leftOut: [...this.#leftOut],
    };
    mkdirSync(join(root, ".cache"), { recursive: true });
    writeFileSync(reportFile, JSON.stringify(report));
  }

  /** @param {string} file */
  #testsOf(file) {
    const tests = this.#tests.get(file) ?? new Set();
    this.#tests.set(file, tests);
    return tests;
  }

  /**
   * @param {string} where
   * @param {readonly import("vitest/node").SerializedError[] | undefined} errors
   */
  #fail(where, errors = []) {
    const text = [`FAILED ${where}`, ...errors.map(inWords)].join("\n");
    this.#failures.push(text);
    console.log(`${process.stdout.isTTY ? "\r\x1b[K" : ""}\n${text}\n`);
  }

  #showProgress() {
    const now = performance.now();
    const seconds = Math.round((now - this.#started) / 1000);
    const parts = [
      `${this.#doneFiles} of ${this.#files} files`,
      `${this.#passed} tests passed`,
      `${this.#failures.length} failed`,
      `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`,
    ];
    for (const [file, since] of this.#running) {
      if (now - since > longMs)
        parts.push(`${file} runs for ${Math.round((now - since) / 1000)} s`);
    }
    const line = parts.join(" · ");
    if (!process.stdout.isTTY) console.log(line);
    else process.stdout.write(`\r\x1b[K${line.slice(0, (process.stdout.columns ?? 80) - 1)}`);
  }
}

/** @param {TestModule} module */
function fileOf(module) {
  return relative(root, module.moduleId);
}

/**
 * What went wrong, and where in our own files.
 * @param {import("vitest/node").SerializedError} error
 * @returns {string}
 */
function inWords(error) {
  const { name, message, diff, stack = "", stacks, cause } = /** @type {any} */ (error);
  // What `await using` throws when the test failed and so did its clean-up.
  const { error: late, suppressed } = /** @type {any} */ (error);
  if (name === "SuppressedError") return `${inWords(suppressed)}\nand then ${inWords(late)}`;
  const lines = [stripVTControlCharacters(`${name ?? "Error"}: ${withoutAdvice(message)}`)];
  if (diff !== undefined) lines.push(stripVTControlCharacters(diff));
  const own = stacks
    ?.map((/** @type {any} */ { file, line }) => `    at ${relative(root, file)}:${line}`)
    .filter((/** @type {string} */ line) => !line.includes("node_modules"));
  lines.push(...(own ?? ownLines(stack)).slice(0, 6));
  if (cause !== undefined) lines.push(`caused by ${inWords(cause)}`);
  return lines.join("\n");
}

/**
 * Explains what a time limit means; Vitest advises raising it instead, which hides what never
 * happened.
 * @param {unknown} message
 */
function withoutAdvice(message) {
  return String(message).replace(
    /^(Test|Hook) timed out in (\d+)ms\.[\s\S]*/,
    (_, what, ms) =>
      `the ${what === "Test" ? "test" : "hook"} reached its limit of ${ms / 1000} s, and what it waited for had not happened`,
  );
}

/**
 * The lines of a stack that are neither of Node nor of a package.
 * @param {string} stack
 */
function ownLines(stack) {
  const lines = stack.split("\n").filter((line) => /^\s+at .*\d+:\d+/.test(line));
  return lines
    .filter((line) => !/node:|node_modules/.test(line))
    .map((line) => line.replace(root, ""));
}
