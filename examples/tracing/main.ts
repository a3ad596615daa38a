// Three services in three processes, HTTP to WebSocket to stdio. One call is one trace.
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { tracing } from "callwire/observability/otel";
import { Collector } from "./collector.ts";
import { register } from "./telemetry.ts";

const collector = new Collector();
process.env.COLLECTOR_URL = await collector.listen();
const provider = register("caller");

const orders = await started("orders.ts", {});
const front = await started("front.ts", { ORDERS_URL: orders.url });

const client = createClient(httpLink(front.url), { use: [tracing()] });
console.log(`The order is ${await client.call("shop/buy", ["a lamp"])}.`);

// Each hop has a client span and a server span.
await collector.received(6);
console.log(`${collector.traces} trace:`);
for (const line of collector.tree()) console.log(line);

await client.close();
for (const { child } of [front, orders]) child.kill();
await provider.shutdown();
collector.close();

/** Starts a service and waits for the address that it prints. */
async function started(
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<{ url: string; child: ChildProcess }> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(process.execPath, [...process.execArgv, path], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  for await (const url of createInterface(child.stdout)) return { url, child };
  throw new Error(`${file} ended`);
}
