/**
 * One trace through four programs: a caller, an A2A agent, an MCP server behind it, and a worker that gets a durable
 * notification. With `draw`, it also makes trace.svg. It needs nats-server, and the packages of the tracing example:
 * `node --import ./examples/typescript.mjs examples/agents/chain.ts draw`.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { a2aAgent, a2aClient } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { durableLink, serveDurable } from "callwire/nats/jetstream";
import { tracing } from "callwire/observability/otel";
import { Collector } from "../tracing/collector.ts";
import { register } from "../tracing/telemetry.ts";

const [, , role = "caller", from = ""] = process.argv;
const collector = new Collector();
if (role === "caller" || role === "draw") process.env.COLLECTOR_URL = await collector.listen();
const provider = register(role === "draw" ? "caller" : role);
const use = [tracing()];
const where = { subject: "letters", partitions: 1 };
const ready = (line: string | number): void => console.log(line);

/** What each program does; the first one starts the others. */
const programs: Readonly<Record<string, (from: string) => Promise<void>>> = {
  async worker(nats) {
    const server = createServer({ "letter/send": () => {} }, { use });
    await serveDurable(server, await connect({ servers: nats }), where);
    ready("working");
  },
  async tools(nats) {
    const letters = createClient(durableLink(await connect({ servers: nats }), where), { use });
    const invite = tool({ description: "Invites a guest" }, async () => {
      await letters.notify("letter/send", { to: "Ada" });
      return "invited";
    });
    const server = mcpServer({ invite }, { name: "tools", version: "1", use });
    const { port } = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
    ready(`http://127.0.0.1:${port}/mcp`);
  },
  async agent(url) {
    const tools = mcpClient(mcpHttpLink(url), { name: "agent", version: "1", use });
    await tools.connect();
    const card = { name: "Host", description: "Plans parties" };
    const agent = await a2aAgent.fromTools(tools, { card, use });
    const { port } = await serveHttp(createServer({}), { port: 0, mounts: a2aMounts(agent) });
    ready(`http://127.0.0.1:${port}`);
  },
};

await (programs[role]?.(from) ?? callThrough());

async function callThrough(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "callwire-agents-"));
  const nats = spawn("nats-server", ["-js", "-sd", folder, "-p", "-1", "-a", "127.0.0.1"]);
  const children: ChildProcess[] = [nats];
  try {
    const address = await natsAddress(nats);
    children.push((await started("worker", address)).child);
    const tools = await started("tools", address);
    const agent = await started("agent", tools.line);
    children.push(tools.child, agent.child);
    const client = await a2aClient(agent.line, { use });
    const answer = await client.send({ data: { skill: "invite" } });
    if ("task" in answer) console.log(answer.task.artifacts?.[0]?.parts[0]?.text);
    // Each hop has a span on both sides. The agent's earlier questions to the server are other traces.
    await collector.received(6, "SendMessage");
    for (const line of collector.tree("", "", "SendMessage")) console.log(line);
    if (role === "draw")
      writeFileSync(new URL("trace.svg", import.meta.url), collector.picture("SendMessage"));
    await client.close();
  } finally {
    for (const child of children) child.kill();
    await provider.shutdown();
    collector.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function natsAddress({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error("nats-server has no output");
  for await (const line of createInterface(stderr)) {
    const [, port] = /client connections on 127\.0\.0\.1:(\d+)/.exec(line) ?? [];
    if (port !== undefined) return `127.0.0.1:${port}`;
  }
  throw new Error("nats-server ended");
}

/** Starts a program and waits for the line that it prints. */
async function started(name: string, from: string): Promise<{ line: string; child: ChildProcess }> {
  const args = [...process.execArgv, fileURLToPath(import.meta.url), name, from];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface(child.stdout)) return { line, child };
  throw new Error(`${name} ended`);
}
