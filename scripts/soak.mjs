// Makes millions of calls, streams, cancellations and reconnects on each wire, and writes what they leave behind to
// docs/reliability.md: `npm run soak`. Ten million calls take a few minutes for each wire. Wires that are not named
// keep their figures.
//
//   npm run soak -- [--calls 10000000] [--wires http,sse,ws,tcp,unix,stdio,nats] [--no-save]
import { asking, start } from "../bench/processes.mjs";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

const known = ["http", "sse", "ws", "tcp", "unix", "stdio", "nats"];
/**
 * Measurements of memory; the first ones are left out, until everything is compiled and every table
 * has its size.
 */
const looks = 20;
const skipped = 4;
const { values: flags } = scriptOptions(import.meta.url, {
  options: {
    calls: { type: "string", default: "10000000" },
    wires: { type: "string", default: known.join() },
    save: { type: "boolean", default: true },
  },
  allowNegative: true,
});
const calls = Number(flags.calls);
const wires = flags.wires.split(",");
if (!(calls >= 1_000) || !wires.every((wire) => known.includes(wire))) {
  console.error(`--calls must be at least 1000, and --wires some of ${known.join()}`);
  process.exit(2);
}

for (const wire of wires) {
  const result = await soaked(wire);
  if (flags.save) record("soak", { wires: [result] });
}

/** @param {string} name */
async function soaked(name) {
  const started = performance.now();
  const engine = name === "nats" ? end("nats-server.mjs", "candidate") : undefined;
  const server = end("../scripts/soak-end.mjs", "candidate");
  const client = end("../scripts/soak-end.mjs", "load");
  try {
    const nats = (await engine?.ask("start"))?.port;
    const address = await server.ask("serve", { wire: name, nats });
    const clientBefore = await client.ask("memory");
    const serverBefore = await server.ask("memory");
    await client.ask("connect", { wire: name, address });
    /** @type {[number, number][]} */
    const own = [];
    /** @type {[number, number][]} */
    const theirs = [];
    /** @type {any} */
    let counts = {};
    for (let look = 1; look <= looks; look++) {
      counts = await client.ask("run", { calls: (calls * look) / looks }, 3_600_000);
      own.push([counts.calls / 1e6, (await client.ask("memory")).heap]);
      theirs.push([counts.calls / 1e6, (await client.ask("serverMemory")).heap]);
      const seconds = Math.round((performance.now() - started) / 1000);
      console.log(`${name}: ${counts.calls.toLocaleString("en")} calls, ${seconds} s`);
    }
    await client.ask("close");
    const handles =
      (await left(client, clientBefore.handles)) + (await left(server, serverBefore.handles));
    const result = {
      name,
      ...counts,
      seconds: Math.round((performance.now() - started) / 1000),
      heapPerMillion: Math.round(slope(own.slice(skipped))),
      serverHeapPerMillion: Math.round(slope(theirs.slice(skipped))),
      handles,
    };
    console.log(result);
    return result;
  } finally {
    for (const each of [client, server, engine]) if (each?.child.connected) each.child.disconnect();
  }
}

/** @param {string} file @param {"candidate" | "load"} role */
function end(file, role) {
  const options = /** @type {any} */ ({ role, nodeFlags: ["--expose-gc"] });
  const child = start(file, [], options);
  return { child, ask: asking(child, `the ${role}`) };
}

/**
 * Handles beyond those at the start; closing takes a moment.
 * @param {{ ask: (type: string) => Promise<any> }} process
 * @param {Record<string, number>} before
 */
async function left({ ask }, before) {
  let count = 0;
  // Links on `fetch` share its pool, whose idle connections stay for as long as the server keeps them.
  for (let tries = 0; tries < 160; tries++) {
    const { handles } = /** @type {{ handles: Record<string, number> }} */ (await ask("memory"));
    count = 0;
    for (const [type, now] of Object.entries(handles)) {
      count += Math.max(0, now - (before[type] ?? 0));
    }
    if (count === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  return count;
}

/** Bytes per million calls, by least squares. @param {readonly [number, number][]} points */
function slope(points) {
  const mean = (/** @type {number[]} */ values) =>
    values.reduce((a, b) => a + b, 0) / values.length;
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  const spread = points.reduce((sum, [each]) => sum + (each - x) ** 2, 0);
  return points.reduce((sum, [px, py]) => sum + (px - x) * (py - y), 0) / spread;
}
