// NATS, four workers and an HTTP gateway. One worker is killed under load and restarted; no call is lost.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink } from "callwire/nats";
import type { methodsOf } from "./methods.ts";
import { startNats } from "./nats-server.ts";

const program = fileURLToPath(new URL("worker.ts", import.meta.url));
const workers = new Map<string, ChildProcess>();
// Stop the child processes at exit, also on Ctrl-C.
process.once("exit", () => {
  for (const child of workers.values()) child.kill("SIGKILL");
});

async function startWorker(name: string): Promise<void> {
  const child = fork(program, [`${nats.port}`, name], { detached: true });
  workers.set(name, child);
  await once(child, "message");
}

async function stopWorker(name: string, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  const child = workers.get(name) as ChildProcess;
  workers.delete(name);
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}

const nats = await startNats();
await Promise.all(["1", "2", "3", "4"].map(startWorker));

// The gateway knows only the subject. If a worker dies, its idempotent calls go to another.
const connection = await connect({ port: nats.port, name: "gateway" });
const gateway = await createGateway({
  upstreams: {
    workers: {
      targets: {
        nats: (service) => natsLink(connection, { subject: "scale", service, aliveMs: 200 }),
      },
    },
  },
  routes: [{ method: "*", to: "workers" }],
});
const { url } = await serveHttp(gateway, { port: Number(process.env.PORT ?? 8000) });
console.log(`NATS, 4 workers and a gateway at ${url}`);

const client = createClient<ReturnType<typeof methodsOf>>(httpLink(url));

/** Makes many calls with limited concurrency, and counts the replies by worker. */
async function load(title: string, during: () => Promise<void> = async () => {}): Promise<void> {
  const calls = 2_000;
  const shares = new Map<string, number>();
  let made = 0;
  const callers = Array.from({ length: 32 }, async () => {
    while (made < calls) {
      if (++made === calls / 2) await during();
      const { worker } = await client.api.primes({ below: 1_000 });
      shares.set(worker, (shares.get(worker) ?? 0) + 1);
    }
  });
  await Promise.all(callers);
  const names = [...shares.keys()].sort();
  console.log(`${title}: ${made} calls, all answered, by ${names.join(" ")}`);
  if (!process.stdout.isTTY) return;
  for (const name of names) {
    const share = shares.get(name) ?? 0;
    console.log(`  worker ${name} ${"#".repeat(share / 20)} ${share}`);
  }
}

await load("four workers");
await load("worker 2 is killed", () => stopWorker("2", "SIGKILL"));
await load("three workers");
await startWorker("2");
await load("worker 2 is back");
await load("all are restarted, one by one", async () => {
  for (const name of ["1", "2", "3", "4"]) {
    await stopWorker(name, "SIGTERM");
    await startWorker(name);
  }
});

await client.close();
await gateway.close();
await connection.close();
await Promise.all([...workers.keys()].map((name) => stopWorker(name, "SIGTERM")));
await nats.stop();
console.log("stopped");
