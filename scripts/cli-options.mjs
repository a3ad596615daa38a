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

/** @param {string[][]} rows */
function table([titles = [], ...rows]) {
  const widths = titles.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)),
  );
  const line = (/** @type {string[]} */ cells) =>
    `| ${widths.map((width, i) => (cells[i] ?? "").padEnd(width)).join(" | ")} |`;
  const rule = widths.map((width) => "-".repeat(width));
  return [line(titles), line(rule), ...rows.map(line)].join("\n");
}

/**
 * Each option with its meaning, and with its environment variable if the verb has any.
 * @param {string} help
 */
function options(help) {
  const rows = rowsBelow(help, "Options").filter(({ left }) => !left.endsWith("--help"));
  const variables = new Map(rowsBelow(help, "Environment").map(({ left, right }) => [right, left]));
  const cells = rows.map(({ left, right }) => {
    const variable = variables.get(/--[\w-]+/.exec(left)?.[0] ?? "");
    return [`\`${escaped(left)}\``, escaped(right), variable ? `\`${variable}\`` : ""];
  });
  const titles = ["option", "meaning", "variable"];
  const width = cells.some(([, , variable]) => variable !== "") ? 3 : 2;
  return cells.length === 0
    ? "It has no options."
    : table([titles, ...cells].map((row) => row.slice(0, width)));
}

async function section() {
  const verbs = rowsBelow(await help([]), "Commands");
  const parts = await Promise.all(
    verbs.map(async ({ left: verb }) => {
      const text = await help([verb]);
      const [, usage = ""] = /^Usage: (.*)$/m.exec(text) ?? [];
      return `### \`${usage}\`\n\n${options(text)}\n`;
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
