// Writes the table of docs/conformance.md: `node scripts/conformance-table.mjs`.
// It needs a build, and the peers of test/interop (scripts/fetch-peers.mjs).
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createServer, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { conformanceCases, conformanceLevels, runConformance } from "callwire/testing";
import {
  httpConformanceWire,
  rawWebSocketConformanceWire,
  socketConformanceWire,
} from "callwire/testing/node";
import { z } from "zod";
import { peerResults, peers } from "./conformance-peers.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const page = join(root, "docs", "conformance.md");

/** @typedef {import("callwire/testing").ConformanceResult} Result */

/** @type {{ title: string, wire: string, results: Result[] }[]} */
const rows = await ownRows();
for (const { name, wire, package: source } of peers) {
  console.log(`${name} …`);
  const { version } = JSON.parse(
    readFileSync(join(root, "test", "interop", "node_modules", source, "package.json"), "utf8"),
  );
  rows.push({ title: `${source} ${version}`, wire, results: await peerResults(name) });
}

let text = readFileSync(page, "utf8");
text = replaced(text, "peers", peerTable());
text = replaced(text, "cases", caseTable());
writeFileSync(page, text);
spawnSync("npx", ["biome", "format", "--write", page], { cwd: root });
console.log("Wrote docs/conformance.md");

/** The same methods as the peers have; the demo is TypeScript, which this is not. */
async function ownRows() {
  const server = createServer(
    {
      add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
      echo: method({ params: z.object({ message: z.unknown() }) }, ({ message }) => message),
      trigger_error: method({ params: z.object({ message: z.string().optional() }) }, (params) => {
        throw new Error(params.message);
      }),
    },
    { log: silentLog },
  );
  const http = await serveHttp(server, { port: 0 });
  const tcp = await serveSocket(server, { port: 0 });
  const own = [];
  for (const wire of [
    httpConformanceWire(http.url),
    rawWebSocketConformanceWire(`${http.url.replace("http", "ws")}/ws`),
    socketConformanceWire(`tcp://127.0.0.1:${tcp.port}`),
  ]) {
    const { results } = await runConformance(wire);
    own.push({ title: "callwire", wire: wire.name, results: [...results] });
  }
  await server.close();
  return own;
}

function peerTable() {
  const body = rows.map(({ title, wire, results }) => {
    const counts = conformanceLevels.map((level) => {
      const own = results.filter((each) => each.case.level === level && each.outcome !== "skipped");
      return `${own.filter(({ outcome }) => outcome === "passed").length} of ${own.length}`;
    });
    return [title, wire, ...counts];
  });
  const broken = rows.flatMap(({ title, wire, results }) => {
    const list = failedMusts(results);
    return list === "" ? [] : [`- ${title} over ${wire}: ${list}`];
  });
  const heading = "The MUSTs that fail; a ✝ marks what ends the process:";
  return [table(["server", "wire", ...conformanceLevels], body), heading, broken.join("\n")].join(
    "\n\n",
  );
}

/** @param {Result[]} results */
function failedMusts(results) {
  return results
    .filter(({ outcome, case: { level } }) => outcome === "failed" && level === "MUST")
    .map(({ case: { id }, fault }) => `\`${id}\`${fault === "dead" ? " ✝" : ""}`)
    .join(", ");
}

function caseTable() {
  return table(
    ["case", "level", "what must hold", "where it is said"],
    conformanceCases.map(({ id, level, title, section }) => [`\`${id}\``, level, title, section]),
  );
}

/**
 * @param {string[]} head
 * @param {string[][]} body
 */
function table(head, body) {
  const lines = [head, head.map(() => "---"), ...body];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/**
 * @param {string} text
 * @param {string} name
 * @param {string} content
 */
function replaced(text, name, content) {
  const [start, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const from = text.indexOf(start) + start.length;
  const to = text.indexOf(end);
  if (from < start.length || to < from)
    throw new Error(`docs/conformance.md has no place for ${name}`);
  return `${text.slice(0, from)}\n\n${content}\n\n${text.slice(to)}`;
}
