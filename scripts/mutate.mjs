// Breaks the code in small ways, and reports what no test notices: `npm run mutate`.
//
//   npm run mutate -- [--since REV] [--sample 150] [--seed 1] [--tests test/protocol,…] [--write] [folders …]
//
// It tries one mutant after the other, with the tests that reach it, in one process (scripts/mutation-runner.mjs).
// Mutants that change nothing a caller could notice are listed with the reason in docs/reliability/mutants.json;
// `--write` writes the figures there, with the mutants that were not caught.
import { spawn, spawnSync } from "node:child_process";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { mutate } from "./mutants.mjs";
import { planVariable, readJournal } from "./mutation-plan.mjs";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

/**
 * @typedef {import("./mutation-plan.mjs").Entry} Entry
 * @typedef {import("./mutants.mjs").Mutant} Mutant
 *
 * @typedef {object} Row the figures of a folder
 * @property {string} name
 * @property {number} mutants how many were tried
 * @property {number} caught
 * @property {number} excused of those that were not caught
 * @property {Mutant[]} missed the others, which is where tests may be missing
 * @property {number} [of] how many there are, if they are a sample
 * @property {number} [seed] of the sample
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const figuresPath = join(root, "docs/reliability/mutants.json");
/** Longer than any trial, also on a busy machine: the process itself hangs. */
const silenceMs = 120_000;
/** Nine of ten have to be caught. */
const wantedShare = 0.9;

/** Tests that run the sources in their own process, those that catch the most first. */
const usualTests = [
  "test/framing",
  "test/conformance",
  "test/server",
  "test/protocol",
  "test/client",
  "test/connection",
  "test/security",
  "test/http",
  "test/streams",
  "test/regressions",
  "test/transports/memory.test.ts",
  "test/transports/tcp",
  "test/transports/ws",
  "test/transports/http",
  "test/transports/worker",
  "test/observability",
  "test/testing",
  "test/gateway",
];

const { values: flags, positionals } = scriptOptions(import.meta.url, {
  allowPositionals: true,
  options: {
    since: { type: "string" },
    sample: { type: "string" },
    seed: { type: "string", default: "1" },
    tests: { type: "string" },
    write: { type: "boolean", default: false },
  },
});
const folders =
  positionals.length > 0 ? positionals : ["src/protocol", "src/framing", "src/security/signing"];
const { excused } = readFigures();

const changed = flags.since === undefined ? undefined : changedSince(flags.since);
/** @type {(Mutant & { folder: string })[]} */
const mutants = [];
const sources = folders.flatMap((folder) =>
  filesIn(folder, ".ts").map((file) => {
    const first = mutants.length;
    const found = mutate(file, readFileSync(join(root, file), "utf8")).mutants;
    mutants.push(...found.map((mutant) => ({ ...mutant, folder })));
    return { file, first };
  }),
);
const chosen = folders.flatMap((folder) => {
  const ids = mutants.flatMap((mutant, id) =>
    mutant.folder === folder && (changed === undefined || changed.has(mutant.file)) ? [id] : [],
  );
  return flags.sample === undefined ? ids : sampleOf(ids, Number(flags.sample), Number(flags.seed));
});
const tests = (flags.tests?.split(",") ?? usualTests)
  .flatMap((folder) => filesIn(folder, ".test.ts"))
  .filter((file) => !file.endsWith(".full.test.ts"));

const place = mkdtempSync(join(tmpdir(), "callwire-mutation-"));
const journal = join(place, "journal");
writeFileSync(journal, "");
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));
process.once("exit", () => rmSync(place, { recursive: true, force: true }));
console.log(`${chosen.length} of ${mutants.length} mutants, ${tests.length} test files`);
process.exitCode = report(await tryAll());

/** Runs the tests until each file has tried its mutants, in a new process if one hangs or breaks. */
async function tryAll() {
  for (;;) {
    const entries = readJournal(journal);
    const done = new Set(entries.map((entry) => ("done" in entry ? entry.done : undefined)));
    const left = tests.filter((test) => !done.has(test));
    const caught = new Set(entries.flatMap((entry) => ("caught" in entry ? [entry.caught] : [])));
    if (left.length === 0 || caught.size === chosen.length) return caught;
    await runTests(left);
    if (readJournal(journal).length > entries.length) continue;
    console.log(`${left[0]}: cannot be run`);
    note({ done: left[0] ?? "", unusable: [] });
  }
}

/** @param {string[]} left */
async function runTests(left) {
  const planPath = join(place, "plan.json");
  /** @type {import("./mutation-plan.mjs").Plan} */
  const plan = { sources, mutants: mutants.length, chosen, tests: left, journal };
  writeFileSync(planPath, JSON.stringify(plan));
  const vitest = spawn(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "--config", "scripts/mutation.config.mjs"],
    {
      cwd: root,
      env: { ...process.env, [planVariable]: planPath },
      stdio: "ignore",
      detached: true,
    },
  );
  // A group of its own, so that the process of the tests ends too.
  const stop = () => vitest.pid !== undefined && process.kill(-vitest.pid);
  process.once("exit", stop);
  let seen = readJournal(journal).length;
  let heardAt = performance.now();
  const watch = setInterval(() => {
    const entries = readJournal(journal);
    if (entries.length > seen) heardAt = performance.now();
    for (const entry of entries.slice(seen)) if ("done" in entry) showProgress(entries, entry);
    seen = entries.length;
    // What tests with mutants left open may keep the process alive.
    if (left.every((test) => entries.some((entry) => "done" in entry && entry.done === test)))
      stop();
    const last = entries.at(-1);
    if (last === undefined || !("began" in last) || performance.now() - heardAt < silenceMs) return;
    note({ caught: last.began, test: last.test, by: "the time limit" });
    process.kill(last.pid, "SIGKILL");
  }, 1_000);
  await new Promise((resolve) => vitest.once("close", resolve));
  clearInterval(watch);
  process.off("exit", stop);
}

/** @param {Entry[]} entries @param {{ done: string, unusable: string[] }} entry */
function showProgress(entries, { done, unusable }) {
  const here = entries.filter((entry) => "test" in entry && entry.test === done);
  const caught = here.filter((entry) => "caught" in entry).length;
  const survived = here.filter((entry) => "survived" in entry).length;
  const all = entries.filter((entry) => "caught" in entry).length;
  console.log(`${done}: caught ${caught} of ${caught + survived}; ${chosen.length - all} left`);
  for (const name of unusable) console.log(`  not used, fails without mutants: ${name}`);
}

/** @param {Entry} entry */
function note(entry) {
  appendFileSync(journal, `${JSON.stringify(entry)}\n`);
}

/** Prints the figures and what was not caught; returns the exit code. @param {ReadonlySet<number>} caught */
function report(caught) {
  for (const id of chosen) {
    const { file, line, change } = /** @type {Mutant} */ (mutants[id]);
    const isExcused = excuseFor(id) !== undefined;
    if (!caught.has(id) && !isExcused) console.log(`${file}:${line}: ${change}`);
    if (caught.has(id) && isExcused) console.log(`caught, but excused: ${file}:${line}: ${change}`);
  }
  const rows = folders.map((name) => {
    const here = chosen.filter((id) => mutants[id]?.folder === name);
    const alive = here.filter((id) => !caught.has(id));
    const missed = alive.filter((id) => excuseFor(id) === undefined);
    const row = {
      name,
      mutants: here.length,
      caught: here.length - alive.length,
      excused: alive.length - missed.length,
      missed: missed.map((id) => {
        const { file, line, change } = /** @type {Mutant} */ (mutants[id]);
        return { file, line, change };
      }),
    };
    if (flags.sample === undefined) return row;
    const of = mutants.filter(({ folder }) => folder === name).length;
    return { ...row, of, seed: Number(flags.seed) };
  });
  console.table(rows.map(({ missed, ...row }) => ({ ...row, missed: missed.length })));
  // The reasons are read again, because they may have been edited meanwhile.
  if (flags.write) record("mutants", { folders: rows, excused: readFigures().excused });
  return rows.every((row) => row.caught >= wantedShare * row.mutants) ? 0 : 1;
}

/** @returns {{ folders: Row[], excused: (Mutant & { reason: string })[] }} */
function readFigures() {
  return JSON.parse(readFileSync(figuresPath, "utf8"));
}

/** Lines move, so the same change in the same file is meant, nearest to the line. @param {number} id */
function excuseFor(id) {
  const mutant = /** @type {Mutant} */ (mutants[id]);
  return excused.find(({ file, line, change }) => {
    if (file !== mutant.file || change !== mutant.change) return false;
    const distance = Math.abs(mutant.line - line);
    return !mutants.some(
      (other) =>
        other.file === file && other.change === change && Math.abs(other.line - line) < distance,
    );
  });
}

/** @param {string} path @param {string} ending */
function filesIn(path, ending) {
  if (statSync(join(root, path)).isFile()) return [path];
  const names = readdirSync(join(root, path), { recursive: true, encoding: "utf8" });
  return names
    .filter((name) => name.endsWith(ending) && !/node_modules|fixtures/.test(name))
    .map((name) => `${path}/${name}`)
    .sort();
}

/** @param {string} revision */
function changedSince(revision) {
  const { status, stdout, stderr } = git("diff", "--name-only", revision);
  if (status !== 0) throw new Error(`git cannot compare with "${revision}": ${stderr.trim()}`);
  return new Set(stdout.split("\n"));
}

/** @param {string[]} words */
function git(...words) {
  return spawnSync("git", words, { cwd: root, encoding: "utf8" });
}

/** The same for the same seed. @param {number[]} ids @param {number} count @param {number} seed */
function sampleOf(ids, count, seed) {
  let state = seed;
  const keyed = ids.map((id) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return { id, key: state };
  });
  const sample = keyed.sort((a, b) => a.key - b.key).slice(0, count);
  return sample.map(({ id }) => id).sort((a, b) => a - b);
}
