// The server or the client of soak.mjs. `node soak-end.mjs stdio` is the server on stdio.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient, createServer, method, stream } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink, serveNats } from "callwire/nats";
import { sseLink } from "callwire/sse";
import { serveStdio, stdioLink } from "callwire/stdio";
import { serveSocket, tcpLink, unixLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { answering } from "../bench/processes.mjs";

// Node opens it when the first socket closes, and it would count as a leaked handle.
void process.stderr;

const inFlight = 32;
const batchSize = 40;
const itemsPerStream = 10;
/** Operations between two visits of a client that connects, calls and leaves while its calls are open. */
const opsPerVisit = 2_000;

const methods = {
  add: (/** @type {number} */ a, /** @type {number} */ b) => a + b,
  count: stream({}, async function* () {
    for (let i = 0; i < itemsPerStream; i++) yield i;
  }),
  hold: method({}, (_, { signal }) => {
    return new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  }),
  memory,
};

/** What is in use after a garbage collection, and what keeps the process alive. */
function memory() {
  /** @type {{ gc?: () => void }} */ (globalThis).gc?.();
  /** @type {Record<string, number>} */
  const handles = {};
  for (const name of process.getActiveResourcesInfo()) handles[name] = (handles[name] ?? 0) + 1;
  return { heap: process.memoryUsage().heapUsed, handles };
}

const server = createServer(methods, { overload: false });

/** @type {Record<string, (nats: number) => Promise<string | number | undefined>>} */
const servers = {
  http: async () => (await serveHttp(server, { port: 0 })).port,
  sse: async () => (await serveHttp(server, { port: 0 })).port,
  ws: async () => (await serveHttp(server, { port: 0 })).port,
  tcp: async () => (await serveSocket(server, { port: 0 })).port,
  async unix() {
    const folder = mkdtempSync(join(tmpdir(), "callwire-soak-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    return (await serveSocket(server, { path: join(folder, "soak.sock") })).path;
  },
  async nats(port) {
    await serveNats(server, await connect({ port }), { subject: "soak" });
    return port;
  },
  stdio: async () => undefined,
};

/** @type {Record<string, (address: any) => Promise<{ link: import("callwire").Link, end?: () => Promise<void> }>>} */
const links = {
  http: async (port) => ({ link: httpLink(`http://127.0.0.1:${port}/rpc`) }),
  sse: async (port) => ({ link: sseLink(`http://127.0.0.1:${port}/rpc`) }),
  ws: async (port) => ({ link: webSocketLink(`ws://127.0.0.1:${port}/rpc/ws`) }),
  tcp: async (port) => ({ link: tcpLink({ port }) }),
  unix: async (path) => ({ link: unixLink(path) }),
  async nats(port) {
    const connection = await connect({ port });
    return { link: natsLink(connection, { subject: "soak" }), end: () => connection.close() };
  },
  stdio: async () => ({
    link: stdioLink(process.execPath, ["--expose-gc", fileURLToPath(import.meta.url), "stdio"]),
  }),
};

/** @type {string} */
let wire;
/** @type {unknown} */
let address;
/** @type {{ client: import("callwire").Client<any>, end?: (() => Promise<void>) | undefined }} */
let main;
const counts = { calls: 0, items: 0, cancelled: 0, reconnects: 0 };
let ops = 0;

async function opened() {
  const { link, end } = await /** @type {any} */ (links[wire])(address);
  return { client: createClient(link), end };
}

async function visit() {
  const { client, end } = await opened();
  await client.call("add", [1, 2]);
  const open = Promise.allSettled([client.call("hold"), client.call("hold")]);
  await new Promise(setImmediate);
  await client.close();
  await open;
  await end?.();
  counts.calls += 3;
  counts.reconnects++;
}

/** One of the operations, in turn. */
async function operation() {
  const { client } = main;
  const i = ops++;
  if (i % opsPerVisit === opsPerVisit - 1) return visit();
  const turn = i % 10;
  if (turn < 5) {
    const calls = (/** @type {any} */ batch) =>
      Array.from({ length: batchSize }, (_, n) => batch.add(n, i));
    const sums = await client.batch(calls);
    if (sums[3] !== 3 + i) throw new Error(`wrong sum ${sums[3]}`);
    counts.calls += batchSize;
  } else if (turn < 8) {
    if ((await client.call("add", [i, 2])) !== i + 2) throw new Error("wrong sum");
    counts.calls++;
  } else if (turn === 8) {
    let next = 0;
    for await (const item of client.stream("count")) {
      if (item !== next++) throw new Error(`item ${item} came instead of ${next - 1}`);
    }
    if (next !== itemsPerStream) throw new Error(`a stream ended after ${next} items`);
    counts.items += next;
    counts.calls++;
  } else {
    const controller = new AbortController();
    const call = client.call("hold", {}, { signal: controller.signal });
    setImmediate(() => controller.abort());
    const code = await call.then(
      () => "nothing",
      (/** @type {{ code: unknown }} */ { code }) => code,
    );
    if (code !== "ABORTED") throw new Error(`a cancelled call ended with ${code}`);
    counts.cancelled++;
    counts.calls++;
  }
}

if (process.argv[2] === "stdio") serveStdio(server);
else
  answering({
    serve: (/** @type {any} */ { wire, nats }) => servers[wire]?.(nats),

    memory,

    async connect(/** @type {any} */ given) {
      ({ wire, address } = given);
      main = await opened();
      await main.client.call("add", [1, 2]);
    },

    /** Repeats operations until this many calls were made in all. */
    async run(/** @type {any} */ { calls }) {
      const keepOn = async () => {
        while (counts.calls < calls) await operation();
      };
      await Promise.all(Array.from({ length: inFlight }, keepOn));
      return counts;
    },

    /** The memory of the server, asked over the wire. */
    serverMemory: () => main.client.call("memory"),

    async close() {
      await main.client.close();
      await main.end?.();
    },
  });
