/** A server in its own process, which the tests kill: an agent at /a2a and a tool at /mcp, which never finish. */
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { createServer } from "callwire";
import { a2aAgent } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { natsWork } from "callwire/nats/kv";
import type { WorkStore } from "callwire/work";
import { PostgresWorkStore } from "callwire/work/postgres";
import pg from "pg";

const { postgres, nats } = JSON.parse(process.argv[2] ?? "{}");

async function storeFor(name: string): Promise<WorkStore> {
  if (postgres !== undefined) return new PostgresWorkStore(new pg.Pool(postgres), { table: name });
  return natsWork(await new Kvm(await connect({ port: nats })).open(name));
}

const forever = () => new Promise<string>(() => setInterval(() => {}, 1000));

const agent = a2aAgent({
  card: { name: "Worker", description: "Never ends" },
  store: await storeFor("agent"),
  async *execute() {
    yield "begun";
    await forever();
  },
});
const tools = mcpServer(
  { work: tool({ task: "required" }, forever) },
  { name: "worker", version: "1", tasks: { store: await storeFor("tools") } },
);
const mounts = { ...a2aMounts(agent), ...mcpMounts(tools) };
const { port } = await serveHttp(createServer({}), { port: 0, mounts });
console.log(port);
