// Measures the same small application in callwire, tRPC and oRPC, and writes docs/comparison.md:
// `node scripts/compare.mjs`. It needs the packages of bench (`npm ci` there) and a build.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { oneFileSize, pageSizes } from "./page-sizes.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const folder = join(root, "bench/comparison");
const page = join(root, "docs/comparison.md");
const typescript = pathToFileURL(join(root, "examples/typescript.mjs")).href;
const tsc = join(
  dirname(createRequire(import.meta.url).resolve("typescript/package.json")),
  "bin/tsc",
);
const peers = { callwire: "callwire", trpc: "tRPC", orpc: "oRPC" };
const rounds = 7;

/** @type {{ title: string, lines: number[], sizes: string[], code: string, name: string }[]} */
const rows = [];
for (const [name, title] of Object.entries(peers)) {
  const server = readFileSync(join(folder, name, "server.ts"), "utf8");
  const client = readFileSync(join(folder, name, "client.ts"), "utf8");
  await run(name);
  rows.push({
    title,
    name,
    lines: [linesOf(server), linesOf(client)],
    sizes: [
      await bundleSizes(name, "client.ts"),
      await bundleSizes(name, "live.ts"),
      kilobytes(await oneFileSize(join(folder, name, "live.ts"))),
    ],
    code: `### ${title}\n\n\`\`\`typescript\n// server.ts\n${server}\`\`\`\n\n\`\`\`typescript\n// client.ts\n${client}\`\`\`\n`,
  });
}

/** The fastest run of each; they take turns, so that a busy machine slows all of them. */
const checks = new Map(rows.map(({ name }) => [name, Number.POSITIVE_INFINITY]));
for (let round = 0; round < rounds; round++) {
  for (const [name, best] of checks) checks.set(name, Math.min(best, typeCheckMs(name)));
}

const table = padded([
  [
    "",
    "lines of the server",
    "lines of the client",
    "HTTP",
    "HTTP and WebSocket",
    "one file",
    "type check",
  ],
  ...rows.map(({ title, name, lines, sizes }) => [
    title,
    ...lines.map(String),
    ...sizes,
    `${((checks.get(name) ?? 0) / 1000).toFixed(2)} s`,
  ]),
]);
console.log(table);
writeFileSync(
  page,
  readFileSync(page, "utf8").replace(
    /(<!-- measured -->\n).*/s,
    (_, mark) =>
      `${mark}\n${table}\n\n## The programs\n\n${rows.map(({ code }) => code).join("\n")}`,
  ),
);

/** A table of Markdown whose columns line up. @param {string[][]} cells */
function padded([head = [], ...rest]) {
  const widths = head.map((_, i) => Math.max(...[head, ...rest].map((row) => row[i]?.length ?? 0)));
  const line = (/** @type {string[]} */ row) =>
    `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(" | ")} |`;
  return [head, widths.map((width) => "-".repeat(width)), ...rest].map(line).join("\n");
}

/** @param {string} source */
function linesOf(source) {
  return source.split("\n").filter((line) => line.trim() !== "").length;
}

/**
 * How much a page loads of a client before it makes a call, and after connecting if that loads more.
 * @param {string} name
 * @param {string} file
 */
async function bundleSizes(name, file) {
  const { before, connected } = await pageSizes(folder, join(folder, name, file));
  const sizes = [kilobytes(before)];
  if (connected > before) sizes.push(`${kilobytes(connected)} after connecting`);
  return sizes.join(", ");
}

/** @param {number} bytes */
function kilobytes(bytes) {
  return `${(bytes / 1000).toFixed(1)} kB`;
}

/** @param {string} name */
function typeCheckMs(name) {
  const started = performance.now();
  const args = [tsc, "-p", join(folder, name)];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${name} does not compile:\n${stdout}`);
  return performance.now() - started;
}

/** Runs both programs, so that only programs that work are compared. @param {string} name */
async function run(name) {
  const start = (/** @type {string} */ file, /** @type {string[]} */ args) =>
    spawn(
      process.execPath,
      ["--import", typescript, "--experimental-eventsource", join(folder, name, file), ...args],
      { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, PORT: "0" } },
    );
  const server = start("server.ts", []);
  const [url] = await once(createInterface(server.stdout), "line");
  const client = start("client.ts", [url]);
  const seen = [];
  for await (const line of createInterface(client.stdout)) {
    seen.push(line);
    if (seen.length === 2) break;
  }
  client.kill();
  server.kill();
  if (!/^Water the plants,no task 2$/.test(seen.join())) throw new Error(`${name} printed ${seen}`);
}
