// The runner of vitest under `npm run mutate`. It runs each test file as usual, and sees which tests reach which
// mutants. Then it tries each mutant that no test has caught yet with the tests that reach it.
import { appendFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { startTests } from "@vitest/runner";
import { TestRunner, vi } from "vitest";
import { readJournal, readPlan } from "./mutation-plan.mjs";

/** @typedef {import("vitest").RunnerTask} Task @typedef {import("vitest").RunnerTestFile} File */

/** After this a test with a mutant hangs, and has caught it. Tests are used that take a quarter of it at most. */
const hangMs = 4_000;
/** How long the tests of a file take, without the mutant, that try it first, and those that try it then. */
const trialMs = [60, 2_500];

const plan = readPlan();
const root = process.cwd();
const journal = readJournal(plan.journal);
const caught = new Set(journal.flatMap((entry) => ("caught" in entry ? [entry.caught] : [])));
const chosen = new Set(plan.chosen);

let active = -1;
let round = 1;
const seenIn = new Int32Array(plan.mutants);
/** Mutants that were reached in this round. @type {number[]} */
let reached = [];
/** Mutants in code that runs when its module is loaded. @type {Set<number>} */
const atLoad = new Set();

/** How long each test took without a mutant, if nothing else had kept the processor busy. @type {Map<string, number>} */
const durations = new Map();
/** How many times as long the tests really took, because of what else runs on this machine. */
let slowness = 1;

/** When the test began that runs, and how often loops went round. */
let beganAt = 0;
let turns = 0;
// Tests may replace it.
const now = performance.now.bind(performance);

/** @type {any} */ (globalThis).mutation$ = {
  /** @param {number} id */
  mutated$(id) {
    if (seenIn[id] !== round) {
      seenIn[id] = round;
      reached.push(id);
    }
    return id === active;
  },
  looped$() {
    if (++turns % 1_000 !== 0 || active === -1) return;
    if (now() - beganAt > (hangMs / 2) * slowness) throw new Error("a loop does not end");
  },
};

/** What was reached since the last time. */
function takeReached() {
  const taken = reached;
  reached = [];
  round++;
  return taken;
}

/** @param {import("./mutation-plan.mjs").Entry} entry */
function note(entry) {
  appendFileSync(plan.journal, `${JSON.stringify(entry)}\n`);
}

/** @param {Task} task @returns {string} */
function nameOf(task) {
  return task.suite === undefined ? task.name : `${nameOf(task.suite)} > ${task.name}`;
}

/** @param {Task} task @returns {Task[]} */
function testsIn(task) {
  return task.type === "test" ? [task] : task.tasks.flatMap(testsIn);
}

/** @param {Task} task @returns {boolean} */
function hasFailed(task) {
  return task.result?.state === "fail" || (task.type === "suite" && task.tasks.some(hasFailed));
}

/** Runs some tests of a file, until one fails. */
class Trial extends TestRunner {
  /** @type {string | undefined} */
  failed;

  /** @param {any} outer @param {ReadonlySet<string>} wanted */
  constructor(outer, wanted) {
    const timeout = Math.ceil(hangMs * slowness);
    super({ ...outer.config, testTimeout: timeout, hookTimeout: timeout });
    this.wanted = wanted;
    Object.defineProperty(this, "moduleRunner", { value: outer.moduleRunner });
    this.__setTraces(outer._otel);
  }

  /** @param {File[]} files */
  onCollected(files) {
    /** @param {Task} task @returns {boolean} */
    const choose = (task) => {
      if (task.mode !== "run" && task.mode !== "queued") return false;
      const isWanted =
        task.type === "test"
          ? this.wanted.has(nameOf(task))
          : task.tasks.map(choose).some((is) => is);
      if (!isWanted) task.mode = "skip";
      return isWanted;
    };
    for (const file of files) {
      if (hasFailed(file)) this.failed = "the file cannot be loaded";
      choose(file);
    }
  }

  /** @override @param {Task} task */
  async onBeforeRunTask(task) {
    if (this.failed !== undefined) task.mode = "skip";
    beganAt = now();
    await super.onBeforeRunTask(task);
  }

  /** @override @param {Task} task */
  onAfterRunTask(task) {
    super.onAfterRunTask(task);
    if (hasFailed(task)) this.failed ??= nameOf(task);
  }

  /** Snapshots of a trial are not kept. @override */
  async onAfterRunSuite() {}
}

export default class MutationRunner extends TestRunner {
  /** Nothing was broken in this process yet. */
  #isFirst = true;
  /** Which tests reached a mutant. @type {Map<number, Set<string>>} */
  #reachedBy = new Map();
  /** Reached by hooks, so that every test may notice. @type {Set<number>} */
  #reachedByAll = new Set();
  /** Reached while the file was loaded, as by suites that make what their tests use. @type {Set<number>} */
  #reachedAtStart = new Set();
  #before = usage();

  /** @param {File[]} _files */
  onCollected(_files) {
    durations.clear();
    this.#reachedBy.clear();
    this.#reachedByAll.clear();
    this.#reachedAtStart = new Set(takeReached());
    for (const id of this.#reachedAtStart) atLoad.add(id);
  }

  /** @override @param {Task} task */
  async onBeforeRunTask(task) {
    for (const id of takeReached()) this.#reachedByAll.add(id);
    this.#before = usage();
    await super.onBeforeRunTask(task);
  }

  /** @override @param {Task} task */
  onAfterRunTask(task) {
    super.onAfterRunTask(task);
    const after = usage();
    durations.set(nameOf(task), after.needed - this.#before.needed);
    for (const id of takeReached()) {
      const names = this.#reachedBy.get(id) ?? new Set();
      this.#reachedBy.set(id, names.add(nameOf(task)));
    }
  }

  /** @override @param {File[]} [files] */
  async onAfterRunFiles(files = []) {
    for (const id of takeReached()) this.#reachedByAll.add(id);
    super.onAfterRunFiles();
    const { passed, needed } = usage();
    slowness = Math.max(slowness, passed / needed);
    for (const file of files) await this.#tryMutants(file);
  }

  /** @param {File} file */
  async #tryMutants(file) {
    const test = file.filepath.slice(root.length + 1);
    const usable = testsIn(file)
      .filter((task) => task.result?.state === "pass" && durationOf(task) < hangMs / 4)
      .sort((a, b) => durationOf(a) - durationOf(b));
    const unusable = testsIn(file).filter(hasFailed).map(nameOf);
    const survived = journal.flatMap((entry) =>
      "survived" in entry && entry.test === test ? [entry.survived] : [],
    );
    const tried = new Set(survived);
    /** @param {number} id */
    const isOpen = (id) => chosen.has(id) && !caught.has(id) && !tried.has(id);

    const reachedHere = new Set([...this.#reachedBy.keys(), ...this.#reachedByAll]);
    for (const id of [...reachedHere].filter(isOpen).sort((a, b) => a - b)) {
      const isForAll = this.#reachedByAll.has(id) || this.#reachedAtStart.has(id);
      const names = isForAll ? undefined : this.#reachedBy.get(id);
      await this.#try(id, file, selections(usable, names), false);
    }
    // What ran when its module was loaded has to be loaded again, if this file runs or imports the module.
    const used = new Set([...reachedHere].map(sourceOf));
    const { evaluatedModules } = /** @type {any} */ (this).workerState;
    for (const id of evaluatedModules.getModuleById(file.filepath)?.imports ?? []) {
      used.add(id.slice(root.length + 1));
    }
    for (const id of [...atLoad].filter((id) => isOpen(id) && !reachedHere.has(id))) {
      if (used.has(sourceOf(id))) await this.#try(id, file, selections(usable, undefined), true);
    }
    vi.resetModules();
    note({ done: test, unusable });
  }

  /** @param {number} id @param {File} file @param {Set<string>[]} selections @param {boolean} isLoaded */
  async #try(id, file, selections, isLoaded) {
    if (selections.length === 0) return;
    const test = file.filepath.slice(root.length + 1);
    note({ began: id, test, pid: process.pid });
    for (const wanted of selections) {
      const by = await this.#run(file, wanted, id, isLoaded);
      if (by === undefined) continue;
      // A fault may leave something behind that fails tests without it too.
      const alone = wanted.has(by) ? new Set([by]) : wanted;
      const isClean =
        (await this.#run(file, alone, -1, isLoaded)) === undefined ||
        (await this.#run(file, wanted, -1, isLoaded)) === undefined;
      // The first mutant of a process follows a run in which all these tests passed.
      if (isClean || this.#isFirst) {
        caught.add(id);
        note({ caught: id, test, by });
      }
      this.#isFirst = false;
      if (isClean) return;
      note({ left: test });
      process.kill(process.pid, "SIGKILL");
    }
    this.#isFirst = false;
    note({ survived: id, test });
  }

  /**
   * The name of the test that failed, if one did.
   * @param {File} file @param {Set<string>} wanted @param {number} id @param {boolean} isLoaded
   */
  async #run(file, wanted, id, isLoaded) {
    active = id;
    beganAt = now();
    vi.useRealTimers();
    vi.unstubAllGlobals();
    if (isLoaded) vi.resetModules();
    const { evaluatedModules } = /** @type {any} */ (this).workerState;
    const module = evaluatedModules.getModuleById(file.filepath);
    if (module !== undefined) evaluatedModules.invalidateModule(module);
    const trial = new Trial(this, wanted);
    try {
      const [ran] = await startTests([file.filepath], /** @type {any} */ (trial));
      return trial.failed ?? (ran !== undefined && hasFailed(ran) ? "a hook" : undefined);
    } finally {
      active = -1;
      takeReached();
    }
  }
}

/** @param {Task} task */
function durationOf(task) {
  return durations.get(nameOf(task)) ?? 0;
}

/** The time that has passed, and how much of it this process worked or waited for an event; other processes had the rest. */
function usage() {
  const { user, system } = process.cpuUsage();
  const { idle } = performance.eventLoopUtilization();
  return { passed: now(), needed: idle + (user + system) / 1_000 };
}

/** @param {number} id */
function sourceOf(id) {
  return plan.sources.findLast(({ first }) => first <= id)?.file;
}

/**
 * The names of the tests that try a mutant, the quickest first.
 * @param {Task[]} usable @param {ReadonlySet<string> | undefined} names
 */
function selections(usable, names) {
  const wanted = usable.filter((task) => names === undefined || names.has(nameOf(task)));
  return trialMs.flatMap((limit) => {
    /** @type {Set<string>} */
    const selection = new Set();
    for (let left = limit; wanted[0] !== undefined; ) {
      left -= durationOf(wanted[0]);
      if (left < 0 && selection.size > 0) break;
      selection.add(nameOf(wanted[0]));
      wanted.shift();
    }
    return selection.size === 0 ? [] : [selection];
  });
}
