/** The table of speed in the README, made from the results: what is compared, and the worst case of all suites. */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const readme = fileURLToPath(new URL("../README.md", import.meta.url));
const [begin, end] = ["<!-- written by npm run bench -->", "<!-- end -->"];

/**
 * Where, what the same work is by hand, and the row of the results: suite, workload, candidate.
 * Rows without results are left out.
 */
const rows = [
  [
    "in process, string to string",
    "`JSON.parse`, a switch, a concatenated reply",
    "in-process",
    "add",
  ],
  ["the same, with async handlers", "the same", "in-process", "add", "callwire-async"],
  ["the same, 1 KiB echoed", "the same", "in-process", "echo 1 KiB"],
  ["a batch of 100", "the same", "in-process", "batch 100"],
  ["a batch of 100, async handlers", "the same", "in-process", "batch 100", "callwire-async"],
  ["HTTP server, 64 connections", "`node:http` with a handwritten reply", "http-server", "add"],
  [
    "the same, async and with a zod schema",
    "the same, without a schema",
    "http-realistic",
    "async add",
  ],
  ["the same, a nested object of 1 KiB", "the same", "http-realistic", "async nested"],
  ["HTTP client, 64 in flight", "undici's `Pool.request`", "http-client", "add"],
  ["the same, with automatic batching", "the same", "http-client", "add", "callwire-batching"],
  [
    "WebSocket server, 1 in flight",
    "a `ws` loop that answers each message",
    "websocket",
    "1 in flight",
  ],
  ["WebSocket server, 64 in flight", "the same", "websocket", "64 in flight"],
  ["WebSocket client, 64 in flight", "a `ws` client", "websocket-client", "64 in flight"],
  ["stdio, 256 in flight", "a newline loop, one write per tick", "stdio", "256 in flight"],
  ["NATS, 1 in flight", "`request` of the NATS client", "nats", "add, 1 in flight"],
  ["NATS, 64 in flight", "the same", "nats", "add, 64 in flight"],
  ["MCP over Streamable HTTP", "(the official SDK is 1.00)", "mcp-http", "tools/call"],
  ["MCP over stdio, 256 in flight", "(the official SDK is 1.00)", "mcp-stdio", "256 in flight"],
];

/** Suites that compare callwire with the same work by hand, in which it can lose. */
const byHand = ["in-process", "http-server", "http-realistic", "http-client", "websocket"].concat([
  "websocket-client",
  "stdio",
  "nats",
]);

export function speedTable(suites) {
  const cells = rows.flatMap(([where, hand, suite, workload, candidate = "callwire"]) => {
    const of = rowsOf(suites, suite, workload);
    const own = of.find((row) => row.candidate === candidate)?.ratio;
    if (own === undefined) return [];
    return [[where, hand, own.median.toFixed(2), next(of, suites, suite)]];
  });
  const [worst] = suites
    .filter(({ name }) => byHand.includes(name))
    .flatMap(({ name, title, rows: of }) => of.map((row) => ({ ...row, suite: name, title })))
    .filter(({ candidate, ratio }) => /^callwire(-async)?$/.test(candidate) && ratio)
    .sort((a, b) => a.ratio.median - b.ratio.median);
  if (worst) {
    const where = `the worst case, in \`${worst.suite}\`: ${worst.workload}`;
    cells.push([
      where,
      `${worst.label} against the same by hand`,
      worst.ratio.median.toFixed(2),
      "",
    ]);
  }
  return aligned([["where", "written by hand", "callwire", "next"], ...cells]);
}

/** Replaces the table in the README. */
export function writeSpeedTable(suites) {
  const text = readFileSync(readme, "utf8");
  const [before, after] = [text.indexOf(begin), text.indexOf(end)];
  if (before < 0 || after < before) throw new Error(`README.md has no "${begin}" and "${end}"`);
  const table = speedTable(suites);
  writeFileSync(
    readme,
    `${text.slice(0, before + begin.length)}\n\n${table}\n\n${text.slice(after)}`,
  );
}

function rowsOf(suites, name, workload) {
  const suite = suites.find((each) => each.name === name);
  return suite?.rows.filter((row) => row.workload === workload) ?? [];
}

/** The best of the other libraries. */
function next(of, suites, name) {
  const { reference } = suites.find((suite) => suite.name === name);
  const [best] = of
    .filter(({ candidate, ratio }) => ratio && candidate !== reference)
    .filter(({ candidate }) => !/^(?:callwire|ceiling)/.test(candidate))
    .sort((a, b) => b.ratio.median - a.ratio.median);
  return best === undefined ? "" : `${best.label} ${best.ratio.median.toFixed(2)}`;
}

function aligned(table) {
  const widths = table[0].map((_, i) => Math.max(3, ...table.map((row) => row[i].length)));
  const line = (row) => `| ${row.map((cell, i) => cell.padEnd(widths[i])).join(" | ")} |`;
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [line(table[0]), rule, ...table.slice(1).map(line)].join("\n");
}
