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
 * The command that measures a section, and how its figures are shown.
 * @type {Record<string, { command: string, show: (figures: any) => string }>}
 */
const sections = {
  model: { command: "npm run model", show: modelTable },
  fuzz: { command: "npm run fuzz", show: fuzzTable },
  mutants: { command: "npm run mutate", show: mutantTable },
  faults: { command: "npm run faults", show: faultTable },
  soak: { command: "npm run soak", show: soakTable },
  overload: { command: "npm run overload", show: overloadTable },
  durability: { command: "npm run durability", show: durabilityTable },
  scale: { command: "npm run scale", show: scaleTable },
};

/**
 * Keeps the figures of a run, with its date and commit, and shows them on the page.
 * @param {string} name
 * @param {object} figures
 */
export function record(name, figures) {
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.json`);
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(file, JSON.stringify({ date, commit: measured, ...figures }));
  writeFileSync(page, withFigures(readFileSync(page, "utf8")));
  spawnSync("npx", ["biome", "format", "--write", file, page], { cwd: root });
  console.log(`Wrote docs/reliability/${name}.json and docs/reliability.md`);
}

/**
 * The page with the figures that are kept now.
 * @param {string} text
 */
export function withFigures(text) {
  let shown = text;
  for (const [name, { command, show }] of Object.entries(sections)) {
    const file = join(folder, `${name}.json`);
    const figures = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
    const part =
      // A file without a commit holds the place of a run that is still to come.
      !figures?.commit
        ? `Not measured yet; \`${command}\` does it.`
        : `\`${command}\`, ${figures.date}, commit ${figures.commit}:\n\n${show(figures)}`;
    const marks = new RegExp(`(<!-- ${name} -->\n).*?(\n<!-- /${name} -->)`, "s");
    if (!marks.test(shown)) throw new Error(`docs/reliability.md has no place for ${name}`);
    shown = shown.replace(marks, (_, start, end) => `${start}\n${part}\n${end}`);
  }
  return shown;
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
  return table(
    ["scenario", "actions in a row", "sequences", "states", "failures"],
    scenarios.map((/** @type {any} */ { name, depth, sequences, states }) => [
      name,
      depth,
      count(sequences),
      count(states),
      0,
    ]),
  );
}

/** @param {any} figures */
function fuzzTable({ targets }) {
  const rows = targets.map((/** @type {any} */ { name, inputs, seconds, seed, failures }) => [
    name,
    count(inputs),
    count(seconds),
    seed,
    Array.isArray(failures) ? failures.length : failures,
  ]);
  return table(["target", "inputs", "seconds", "seed", "failures"], rows);
}

/** @param {any} figures */
function mutantTable({ folders }) {
  const rows = folders.map((/** @type {any} */ { name, mutants, of, caught, excused }) => {
    const reasons = Array.isArray(excused) ? excused.length : excused;
    const tried =
      of === undefined ? count(mutants) : `${count(mutants)} of ${count(of)}, at random`;
    const share = `${((100 * caught) / mutants).toFixed(1)} %`;
    const open = count(mutants - caught - reasons);
    return [`\`${name}\``, tried, count(caught), share, reasons, open];
  });
  const head = [
    "code",
    "mutants tried",
    "caught",
    "caught of those tried",
    "excused",
    "not caught",
  ];
  const more =
    "Excused mutants change nothing that a caller could notice; `docs/reliability/mutants.json` gives the reasons.";
  return `${table(head, rows)}\n\n${more}`;
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
  ];
  const rows = wires.map((/** @type {any} */ each) => [
    each.name,
    count(each.calls),
    count(each.items),
    count(each.cancelled),
    count(each.reconnects),
    `${megabytes(each.heapPerMillion)} client, ${megabytes(each.serverHeapPerMillion)} server`,
    each.handles,
  ]);
  return table([...head, "leaked handles"], rows);
}

/** @param {any} figures */
function overloadTable({ wires, times }) {
  const head = ["wire", "peak per second", `goodput at ${times} times`, "of the peak"];
  const rows = wires.map((/** @type {any} */ each) => [
    each.name,
    count(each.peak),
    count(each.goodput),
    `${Math.round(each.share * 100)} %`,
    `${Math.round(each.shareByCpu * 100)} %`,
    megabytes(each.peakBytes),
    time(each.recoveryMs),
  ]);
  return table([...head, "by CPU time", "most memory", "recovered after"], rows);
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
  const rows = servers.map((/** @type {any} */ each) => [
    each.name,
    count(each.connections),
    `${(each.bytesEach / 1000).toFixed(1)} kB`,
    time(each.p50Ms),
    time(each.p99Ms),
  ]);
  return table(head, rows);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(page, withFigures(readFileSync(page, "utf8")));
  spawnSync("npx", ["biome", "format", "--write", page], { cwd: root });
}
