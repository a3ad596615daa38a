// Writes the options of every verb into docs/cli.md, from --help: `node scripts/cli-options.mjs`.
// With --check it writes nothing, and fails if the page differs.
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const page = new URL("../docs/cli.md", import.meta.url);
const heading = "## Every option";

/** @param {string[]} args */
async function help(args) {
  const { stdout } = await run(process.execPath, ["dist/cli/main.js", ...args, "--help"], {
    cwd: new URL("..", import.meta.url),
    // Wide enough that nothing is wrapped.
    env: { ...process.env, COLUMNS: "1000" },
  });
  return stdout;
}

/**
 * The rows of the two columns below a title.
 * @param {string} text
 * @param {string} title
 */
function rowsBelow(text, title) {
  const [, after = ""] = text.split(`\n${title}:\n`);
  const [block = ""] = after.split("\n\n");
  return Array.from(block.matchAll(/^ {2}(\S.*?) {2,}(.*)$/gm), ([, left = "", right = ""]) => ({
    left,
    right,
  }));
}

/**
 * In a table a bar ends the cell, even within code.
 * @param {string} text
 */
function escaped(text) {
  return text.replaceAll("|", "\\|");
}

/** @param {{ left: string, right: string }[]} rows */
function table(rows) {
  const cells = [
    { left: "option", right: "meaning" },
    ...rows.map(({ left, right }) => ({ left: `\`${escaped(left)}\``, right: escaped(right) })),
  ];
  const widths = [
    Math.max(...cells.map(({ left }) => left.length)),
    Math.max(...cells.map(({ right }) => right.length)),
  ];
  const line = (/** @type {string} */ left, /** @type {string} */ right) =>
    `| ${left.padEnd(widths[0] ?? 0)} | ${right.padEnd(widths[1] ?? 0)} |`;
  const [title, ...rest] = cells.map(({ left, right }) => line(left, right));
  return [title, line("-".repeat(widths[0] ?? 0), "-".repeat(widths[1] ?? 0)), ...rest].join("\n");
}

async function section() {
  const verbs = rowsBelow(await help([]), "Commands");
  const parts = await Promise.all(
    verbs.map(async ({ left: verb }) => {
      const text = await help([verb]);
      const [, usage = ""] = /^Usage: (.*)$/m.exec(text) ?? [];
      const rows = rowsBelow(text, "Options").filter(({ left }) => !left.endsWith("--help"));
      return `### \`${usage}\`\n\n${table(rows)}\n`;
    }),
  );
  return `${heading}

Generated from the \`--help\` of each verb by \`node scripts/cli-options.mjs\`.

${parts.join("\n")}`;
}

const before = await readFile(page, "utf8");
const [start = ""] = before.split(heading);
const after = start + (await section());
if (!process.argv.includes("--check")) await writeFile(page, after);
else if (before !== after) {
  console.error("docs/cli.md is out of date; run node scripts/cli-options.mjs");
  process.exitCode = 1;
}
