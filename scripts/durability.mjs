// Sends durable notifications while nats-server and workers are killed, and writes how many were lost, repeated or out of
// order to docs/reliability.md: `npm run durability`, some minutes. It needs nats-server.
//
//   npm run durability -- [--count 100000] [--kills 50] [--no-save]
import { fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createNetServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient, silentLog } from "callwire";
import { durableLink } from "callwire/nats/jetstream";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

const { values: flags } = scriptOptions(import.meta.url, {
  options: {
    count: { type: "string", default: "100000" },
    kills: { type: "string", default: "50" },
    save: { type: "boolean", default: true },
  },
  allowNegative: true,
});
const count = Number(flags.count);
const mostKills = Number(flags.kills);
if (!(count > 0) || !(mostKills >= 0)) {
  console.error("--count and --kills must be numbers");
  process.exit(2);
}
const keys = 64;
const workerCount = 3;
const queue = { subject: "durability", partitions: 16 };
/** How long what was acknowledged may take to be handled after the last kill. */
const patienceMs = 120_000;

const folder = mkdtempSync(join(tmpdir(), "callwire-durability-"));
const ledger = join(folder, "ledger");
writeFileSync(ledger, "");
const port = await freePort();
/** @type {import("node:child_process").ChildProcess} */
let engine = await startEngine();
/** @type {import("node:child_process").ChildProcess[]} */
const workers = [];
let over = false;
process.on("exit", () => {
  over = true;
  for (const child of [engine, ...workers]) child.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});
process.on("SIGINT", () => process.exit(130));
process.on("SIGTERM", () => process.exit(143));
for (let i = 0; i < workerCount; i++) workers.push(await startWorker());

const connection = await connect({ port, reconnectTimeWait: 50, maxReconnectAttempts: -1 });
const key = (/** @type {any} */ { params }) => /** @type {string} */ (params[0]);
const client = createClient(durableLink(connection, { ...queue, key, log: silentLog }));
const started = performance.now();
/** The numbers of each key that were acknowledged, in the order in which they were sent. */
const acknowledged = Array.from({ length: keys }, () => /** @type {number[]} */ ([]));
const kills = { server: 0, workers: 0 };
let sent = 0;
let unanswered = 0;

const killing = keepKilling();
await Promise.all(acknowledged.map((_, i) => keepSending(i)));
await killing;
const wanted = acknowledged.reduce((sum, numbers) => sum + numbers.length, 0);
say(`${wanted} were acknowledged; waiting until all were handled`);
let result = compared();
for (const until = performance.now() + patienceMs; result.lost > 0; result = compared()) {
  if (performance.now() > until) break;
  await pause(500);
}
const seconds = Math.round((performance.now() - started) / 1000);
const figures = { acknowledged: wanted, unanswered, keys, kills, ...result, seconds };
console.log(figures);
if (flags.save) record("durability", figures);
process.exit(result.lost + result.misordered > 0 ? 1 : 0);

/** The next notification of a key is sent after the one before was acknowledged. @param {number} i */
async function keepSending(i) {
  while (sent < count) {
    // Not so far ahead that everything was sent before the last kills.
    while (sent > share(kills.server + kills.workers + 2)) await pause(5);
    const number = sent++;
    for (;;) {
      try {
        await client.notify("note", [`k${i}`, number]);
        break;
      } catch {
        // It may have been stored: sending it again can make a duplicate, which is counted.
        unanswered++;
      }
    }
    acknowledged[i]?.push(number);
  }
}

/** Spread evenly over what is sent; nats-server and the workers in turn. */
async function keepKilling() {
  for (let kill = 1; kill <= mostKills; kill++) {
    while (sent < share(kill)) await pause(5);
    if (kill % 2 === 0) {
      const victim = workers.splice(Math.floor(Math.random() * workers.length), 1)[0];
      if (victim !== undefined) await killed(victim);
      workers.push(await startWorker());
      kills.workers++;
    } else {
      await killed(engine);
      engine = await startEngine();
      kills.server++;
    }
    say(`${sent} sent, ${kill} kills`);
  }
}

/** How many are sent before this kill. @param {number} kill */
function share(kill) {
  return (count * kill) / (mostKills + 1);
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function compared() {
  const seen = new Set();
  /** @type {Map<string, number>} */
  const last = new Map();
  let duplicates = 0;
  let misordered = 0;
  for (const line of readFileSync(ledger, "utf8").split("\n").slice(0, -1)) {
    const [name = "", digits] = line.split(" ");
    const number = Number(digits);
    if (seen.has(number)) duplicates++;
    else {
      if (number < (last.get(name) ?? -1)) misordered++;
      last.set(name, number);
    }
    seen.add(number);
  }
  const lost = acknowledged.flat().filter((number) => !seen.has(number)).length;
  return { lost, misordered, duplicates };
}

/** @param {import("node:child_process").ChildProcess} child */
async function killed(child) {
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

async function startWorker() {
  const file = fileURLToPath(new URL("durability-worker.mjs", import.meta.url));
  const child = fork(file, [JSON.stringify({ port, ledger, queue })]);
  const early = () => failed("a worker");
  child.once("exit", early);
  await once(child, "message");
  child.off("exit", early);
  return child;
}

async function startEngine() {
  const path = [process.env.PATH, "/usr/sbin", "/usr/local/sbin"].join(":");
  const args = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", folder];
  const env = { ...process.env, PATH: path };
  const child = spawn("nats-server", args, { stdio: ["ignore", "ignore", "pipe"], env });
  child.on("error", () => failed("nats-server"));
  let said = "";
  await new Promise((resolve) => {
    child.stderr.on("data", (chunk) => {
      said += chunk;
      if (said.includes("Server is ready")) resolve(undefined);
    });
    child.on(
      "exit",
      () => over || said.includes("Server is ready") || failed(`nats-server: ${said}`),
    );
  });
  return child;
}

/** @param {string} what @returns {never} */
function failed(what) {
  console.error(`could not start ${what}`);
  process.exit(1);
}

async function freePort() {
  const server = createNetServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** @param {string} text */
function say(text) {
  console.log(`${Math.round((performance.now() - started) / 1000)} s: ${text}`);
}
