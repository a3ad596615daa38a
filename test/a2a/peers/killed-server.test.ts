import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { silentLog, systemClock } from "callwire";
import { a2aClient } from "callwire/a2a";
import { mcpServer } from "callwire/mcp";
import { natsWork } from "callwire/nats/kv";
import type { WorkStore } from "callwire/work";
import { PostgresWorkStore } from "callwire/work/postgres";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { root } from "../../entries.ts";
import { askModern, envelope, request } from "../../mcp/server/asking.ts";
import { describeWith } from "../../services.ts";
import { startNats } from "../../transports/nats/nats-server.ts";
import { serveAgent } from "../served-agent.ts";
import { startPostgres } from "./postgres-server.ts";

interface Durable {
  /** The server that the process connects to. */
  readonly argument: object;
  store(name: string): Promise<WorkStore>;
}

const tasks = { extensions: { "io.modelcontextprotocol/tasks": {} } };

async function inPostgres(): Promise<Durable> {
  const server = await startPostgres();
  const pool = new pg.Pool(server.config);
  pool.on("error", () => {});
  onTestFinished(async () => {
    await pool.end();
    await server.stop();
  });
  const store = async (table: string) => {
    const made = new PostgresWorkStore(pool, { table });
    await made.prepare();
    return made;
  };
  return { argument: { postgres: server.config }, store };
}

async function inNats(): Promise<Durable> {
  const server = await startNats('jetstream: { store_dir: "$FOLDER" }');
  const connection = await connect({ port: server.port });
  onTestFinished(async () => {
    await connection.close();
    await server.stop();
  });
  const store = async (name: string) => natsWork(await new Kvm(connection).create(name));
  return { argument: { nats: server.port }, store };
}

/** Starts the server that never finishes its work; returns its address. */
async function startWorking(argument: object) {
  const child = spawn(
    process.execPath,
    [
      "--import",
      `${root}examples/typescript.mjs`,
      `${root}test/a2a/peers/working-process.ts`,
      JSON.stringify(argument),
    ],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface(child.stdout);
  const [port] = await Promise.race([
    once(lines, "line"),
    once(child, "exit").then(() => Promise.reject(new Error("the server did not start"))),
  ]);
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  };
  return { base: `http://127.0.0.1:${port}`, kill };
}

describeWith(["a2a peers", "postgresql", "nats-server"], "a server that is killed", () => {
  test.each([
    ["PostgreSQL", inPostgres],
    ["NATS", inNats],
  ])(
    "leaves its tasks in %s, where others answer for them, and end them in time",
    async (_, open) => {
      const durable = await open();
      const [agentStore, toolStore] = [await durable.store("agent"), await durable.store("tools")];
      const { base, kill } = await startWorking(durable.argument);

      const events = (await a2aClient(base)).stream("go");
      const { task } = (await events.next()).value as { task: { id: string } };
      for (const member of ["statusUpdate", "artifactUpdate"])
        expect((await events.next()).value).toHaveProperty(member);
      const params = { name: "work", _meta: envelope(tasks) };
      const begun = await fetch(`${base}/mcp`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
          "mcp-protocol-version": "2026-07-28",
          "mcp-method": "tools/call",
          "mcp-name": "work",
        },
        body: JSON.stringify(request("tools/call", params)),
      });
      const { taskId } = (await begun.json()).result;
      await kill();

      /** A successor whose clock is this much ahead. */
      const states = async (aheadMs: number) => {
        const clock = { ...systemClock, now: () => Date.now() + aheadMs };
        const agent = await serveAgent({
          store: agentStore,
          clock,
          log: silentLog,
          execute: () => "",
        });
        const found = (await agent.ask("GetTask", { id: task.id })).result;
        const tools = mcpServer(
          {},
          { name: "next", version: "1", log: silentLog, clock, tasks: { store: toolStore } },
        );
        onTestFinished(() => tools.close({ drainMs: 0 }));
        const { result } = await askModern(tools, "tasks/get", { taskId }, tasks);
        return { found, result };
      };
      const now = await states(0);
      expect(now.found.artifacts[0].parts).toEqual([{ text: "begun" }]);
      expect([now.found.status.state, now.result?.status]).toEqual([
        "TASK_STATE_WORKING",
        "working",
      ]);
      const later = await states(60_000);
      expect(later.found.status.state).toBe("TASK_STATE_FAILED");
      expect(later.found.status.message.parts[0].text).toMatch(/has stopped/);
      expect(later.result).toMatchObject({
        status: "failed",
        error: { message: "the process that ran this task has stopped" },
      });
    },
  );
});
