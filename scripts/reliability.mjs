// Writes the figures of docs/reliability.md from docs/reliability/*.json: `node scripts/reliability.mjs`. The commands
// that measure them call `record`.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "docs", "reliability");
const page = join(root, "docs", "reliability.md");
/** Read when a run begins, since the sources may change before it ends. */
const measured = commit();

/**
 * The command that measures a section, how its figures are shown, and which member has those that can be measured
 * one by one.
 * @type {Record<string, { command: string, show: (figures: any) => string, rows?: string }>}
 */
const sections = {
  model: { command: "npm run model", show: modelTable, rows: "scenarios" },
  fuzz: { command: "npm run fuzz", show: fuzzTable, rows: "targets" },
  mutants: { command: "npm run mutate", show: mutantTable, rows: "folders" },
  faults: { command: "npm run faults", show: faultTable },
  soak: { command: "npm run soak", show: soakTable, rows: "wires" },
  overload: { command: "npm run overload", show: overloadTable, rows: "wires" },
  durability: { command: "npm run durability", show: durabilityTable },
  scale: { command: "npm run scale", show: scaleTable, rows: "servers" },
};

/**
 * Keeps the figures of a run, with its date and commit, and shows them on the page. Rows that this run did not measure
 * stay as they are.
 * @param {string} name
 * @param {object} figures
 */
export function record(name, figures) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.json`);
  const run = { date: new Date().toISOString().slice(0, 10), commit: measured };
  const rows = sections[name]?.rows;
  const earlier = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const merged = rows === undefined ? {} : { [rows]: mergedRows(rows, earlier, figures, run) };
  writeFileSync(file, JSON.stringify({ ...run, ...figures, ...merged }));
  writeFileSync(page, withFigures(readFileSync(page, "utf8")));
  spawnSync("npx", ["biome", "format", "--write", file, page], { cwd: root });
  console.log(`Wrote docs/reliability/${name}.json and docs/reliability.md`);
}

/**
 * Each row says when it was measured.
 * @param {string} member @param {any} earlier @param {any} figures @param {{ date: string, commit: string }} run
 * @returns {any[]}
 */
function mergedRows(member, earlier, figures, run) {
  const { date, commit } = earlier;
  const old = (earlier[member] ?? []).map((/** @type {any} */ row) => ({ date, commit, ...row }));
  /** @type {Map<string, any>} */
  const rows = new Map(old.map((/** @type {any} */ row) => [row.name, row]));
  for (const row of figures[member]) rows.set(row.name, { ...row, ...run });
  return [...rows.values()];
}

/**
 * The page with the figures that are kept now.
 * @param {string} text
 */
export function withFigures(text) {
  let shown = text;
  for (const [name, { command, show, rows }] of Object.entries(sections)) {
    const file = join(folder, `${name}.json`);
    const figures = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
    const part =
      // A file without a commit holds the place of a run that is still to come.
      !figures?.commit
        ? `Not measured yet; \`${command}\` does it.`
        : `\`${command}\`, ${whenMeasured(rows === undefined ? [] : figures[rows], figures)}:\n\n${show(figures)}`;
    const marks = new RegExp(`(<!-- ${name} -->\n).*?(\n<!-- /${name} -->)`, "s");
    if (!marks.test(shown)) throw new Error(`docs/reliability.md has no place for ${name}`);
    shown = shown.replace(marks, (_, start, end) => `${start}\n${part}\n${end}`);
  }
  return shown;
}

/**
 * What the rows have in common is said once, above the table.
 * @param {any[]} rows @param {{ date: string, commit: string }} run
 */
function whenMeasured(rows, run) {
  return isMixed(rows) ? "each row at its own commit" : `${run.date}, commit ${run.commit}`;
}

/** Whether not all rows are of one run. @param {any[]} rows */
function isMixed(rows) {
  return rows.some((row) => row.date !== rows[0].date || row.commit !== rows[0].commit);
}

function commit() {
  const run = (/** @type {string[]} */ ...args) =>
    spawnSync("git", args, { cwd: root, encoding: "utf8" }).stdout?.trim() ?? "";
  const changed = run("status", "--porcelain", "--untracked-files=no", "--", "src") !== "";
  return `${run("rev-parse", "--short=10", "HEAD") || "unknown"}${changed ? " with changes" : ""}`;
}

/** @param {readonly string[]} head @param {readonly (readonly unknown[])[]} rows */
function table(head, rows) {
  const line = (/** @type {readonly unknown[]} */ cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? "---" : "---:"))), ...rows.map(line)].join(
    "\n",
  );
}

/**
 * A table of rows that may have been measured at different commits.
 * @param {readonly string[]} head @param {any[]} rows @param {(row: any) => readonly unknown[]} cells
 */
function rowTable(head, rows, cells) {
  const isEach = isMixed(rows);
  return table(
    isEach ? [...head, "measured"] : head,
    rows.map((row) => [...cells(row), ...(isEach ? [`${row.date}, ${row.commit}`] : [])]),
  );
}

/** @param {number} value */
function count(value) {
  return Math.round(value).toLocaleString("en");
}

/** @param {number} bytes */
function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(bytes < 10e6 ? 2 : 0)} MB`;
}

/** @param {number} milliseconds */
function time(milliseconds) {
  return milliseconds < 1000
    ? `${milliseconds.toFixed(1)} ms`
    : `${(milliseconds / 1000).toFixed(1)} s`;
}

/** @param {any} figures */
function modelTable({ scenarios }) {
  const head = ["scenario", "actions in a row", "sequences", "states", "failures"];
  return rowTable(head, scenarios, ({ name, depth, sequences, states }) => [
    name,
    depth,
    count(sequences),
    count(states),
    0,
  ]);
}

/** @param {any} figures */
function fuzzTable({ targets }) {
  const head = ["target", "inputs", "seconds", "seed", "failures"];
  const rows = rowTable(head, targets, ({ name, inputs, seconds, seed, failures }) => [
    name,
    count(inputs),
    count(seconds),
    seed,
    failures,
  ]);
  const all = targets.reduce((/** @type {number} */ sum, /** @type {any} */ { inputs }) => {
    return sum + inputs;
  }, 0);
  return `${rows}\n\n${count(all)} inputs in all.`;
}

/** @param {any} figures */
function mutantTable({ folders }) {
  const head = [
    "code",
    "mutants tried",
    "caught",
    "caught of those tried",
    "excused",
    "not caught",
  ];
  const rows = rowTable(head, folders, ({ name, mutants, of, caught, excused }) => [
    `\`${name}\``,
    of === undefined ? count(mutants) : `${count(mutants)} of ${count(of)}, at random`,
    count(caught),
    `${((100 * caught) / mutants).toFixed(1)} %`,
    excused,
    count(mutants - caught - excused),
  ]);
  const more =
    "Excused mutants change nothing that a caller could notice; `docs/reliability/mutants.json` gives the reasons.";
  return `${rows}\n\n${more}`;
}

/** @param {any} figures */
function faultTable({ wires, faults }) {
  /** @type {Map<string, number>} */
  const notes = new Map();
  const cell = (/** @type {any} */ { result, note }) => {
    if (result === "pass") return "passes";
    if (!notes.has(note)) notes.set(note, notes.size + 1);
    return `${result === "none" ? "not possible" : result} ${notes.get(note)}`;
  };
  const rows = faults.map((/** @type {any} */ { name, cells }) => [
    name,
    ...wires.map((/** @type {string} */ wire) => cell(cells[wire])),
  ]);
  const list = [...notes].map(([note, number]) => `${number}. ${note}`);
  return [table(["fault", ...wires], rows), ...(list.length > 0 ? [list.join("\n")] : [])].join(
    "\n\n",
  );
}

/** @param {any} figures */
function soakTable({ wires }) {
  const head = [
    "wire",
    "calls",
    "stream items",
    "cancelled",
    "reconnects",
    "heap per million calls",
    "leaked handles",
  ];
  return rowTable(head, wires, (each) => [
    each.name,
    count(each.calls),
    count(each.items),
    count(each.cancelled),
    count(each.reconnects),
    `${megabytes(each.heapPerMillion)} client, ${megabytes(each.serverHeapPerMillion)} server`,
    each.handles,
  ]);
}

/** @param {any} figures */
function overloadTable({ wires, times }) {
  const head = [
    "wire",
    "peak per second",
    `goodput at ${times} times`,
    "of the peak",
    "by CPU time",
    "most memory",
    "recovered after",
  ];
  return rowTable(head, wires, (each) => [
    each.name,
    count(each.peak),
    count(each.goodput),
    `${Math.round(each.share * 100)} %`,
    `${Math.round(each.shareByCpu * 100)} %`,
    megabytes(each.peakBytes),
    time(each.recoveryMs),
  ]);
}

/** @param {any} figures */
function durabilityTable(figures) {
  const { acknowledged, keys, kills, lost, misordered, duplicates, seconds } = figures;
  return table(
    ["acknowledged", "keys", "kills", "lost", "out of order", "duplicates", "seconds"],
    [
      [
        count(acknowledged),
        count(keys),
        `${kills.server} of nats-server, ${kills.workers} of workers`,
        count(lost),
        count(misordered),
        count(duplicates),
        count(seconds),
      ],
    ],
  );
}

/** @param {any} figures */
function scaleTable({ servers }) {
  const head = ["server", "open connections", "memory of each", "call p50", "call p99"];
  return rowTable(head, servers, (each) => [
    each.name,
    count(each.connections),
    `${(each.bytesEach / 1000).toFixed(1)} kB`,
    time(each.p50Ms),
    time(each.p99Ms),
  ]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, withFigures(readFileSync(page, "utf8")));
  spawnSync("npx", ["biome", "format", "--write", page], { cwd: root });
}
