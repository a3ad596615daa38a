import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { systemClock } from "callwire";
import { a2aClient, type StreamResponse, type TaskRecord } from "callwire/a2a";
import { PostgresTaskStore } from "callwire/a2a/postgres";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { root } from "../../entries.ts";
import { describeWith } from "../../services.ts";
import { gate, says, serveAgent } from "../served-agent.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

describeWith(["a2a peers", "postgresql"], "tasks in PostgreSQL", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool(server.config);
    // A connection that is still closing when the server stops.
    pool.on("error", () => {});
    await new PostgresTaskStore(pool).prepare();
  });

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  test("are read, listed, followed and cancelled by another process of the fleet", async () => {
    const [step, end] = [gate(), gate()];
    const aborted = gate();
    const one = await serveAgent({
      store: new PostgresTaskStore(pool),
      async *execute({ text }, { signal }) {
        signal.addEventListener("abort", () => aborted.open());
        yield "one ";
        await step.passed;
        yield "two ";
        await end.passed;
        yield text;
      },
    });
    const other = await serveAgent({ store: new PostgresTaskStore(pool), execute: () => "other" });
    const params = {
      ...says("three", { contextId: "fleet" }),
      configuration: { returnImmediately: true },
    };
    const { id } = (await one.ask("SendMessage", params)).result.task;
    expect((await other.ask("GetTask", { id })).result.id).toBe(id);
    const agent = await a2aClient(other.base);
    const follow = agent.subscribe(id);
    const events: StreamResponse[] = [];
    for await (const event of follow) {
      events.push(event);
      if (JSON.stringify(events).includes("one ")) step.open();
      if (JSON.stringify(event).includes("two ")) break;
    }
    expect((await other.ask("ListTasks", { contextId: "fleet" })).result.totalSize).toBe(1);
    expect((await other.ask("CancelTask", { id })).result.status.state).toBe("TASK_STATE_CANCELED");
    end.open();
    // The process that works on it notices at its next step.
    await aborted.passed;
    expect((await one.ask("GetTask", { id })).result.status.state).toBe("TASK_STATE_CANCELED");
  });

  test("survive a process that is killed, and fail once it has been silent for too long", async () => {
    const child = spawn(
      process.execPath,
      [
        "--import",
        `${root}examples/typescript.mjs`,
        `${root}test/a2a/peers/postgres-agent.ts`,
        JSON.stringify(server.config),
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const [port] = (await once(createInterface(child.stdout), "line")) as [string];
    const agent = await a2aClient(`http://127.0.0.1:${port}`);
    const events = agent.stream("go");
    const first = (await events.next()).value as { task: { id: string } };
    expect((await events.next()).value).toHaveProperty("statusUpdate");
    expect((await events.next()).value).toHaveProperty("artifactUpdate");
    child.kill("SIGKILL");
    await once(child, "exit");
    const { id } = first.task;
    const execute = () => "other";
    const now = await serveAgent({ store: new PostgresTaskStore(pool), execute });
    const working = (await now.ask("GetTask", { id })).result;
    expect([working.status.state, working.artifacts[0].parts]).toEqual([
      "TASK_STATE_WORKING",
      [{ text: "begun" }],
    ]);
    const later = { ...systemClock, now: () => Date.now() + 60_000 };
    const successor = await serveAgent({
      store: new PostgresTaskStore(pool),
      clock: later,
      execute,
    });
    const failed = (await successor.ask("GetTask", { id })).result;
    expect(failed.status.state).toBe("TASK_STATE_FAILED");
    expect(failed.status.message.parts[0].text).toMatch(/has stopped/);
    expect((await now.ask("GetTask", { id })).result.status.state).toBe("TASK_STATE_FAILED");
  });

  test("are not overwritten by a process that has an older version", async () => {
    const store = new PostgresTaskStore(pool);
    const record = (version: number): TaskRecord => ({
      task: { id: "raced", contextId: "c", status: { state: "TASK_STATE_WORKING" } },
      owner: "me",
      version,
      changedAt: 1,
      push: [],
      characters: 10,
    });
    expect(await store.save(record(1))).toBe(true);
    expect(await store.save(record(1))).toBe(false);
    const saves = await Promise.all(Array.from({ length: 10 }, () => store.save(record(2))));
    expect(saves.filter((won) => won)).toHaveLength(1);
    expect(await store.save(record(4))).toBe(false);
    expect((await store.load("raced"))?.version).toBe(2);
  });

  test("are listed in the order of their last change, page by page", async () => {
    const store = new PostgresTaskStore(pool, { table: "listed" });
    await store.prepare();
    for (const [i, id] of ["b", "a", "c", "d"].entries()) {
      const task = { id, contextId: "x", status: { state: "TASK_STATE_COMPLETED" as const } };
      await store.save({
        task,
        owner: "me",
        version: 1,
        changedAt: i < 2 ? 5 : i,
        push: [],
        characters: 1,
      });
    }
    const first = await store.list({ owner: "me", limit: 3 });
    expect([first.total, first.records.map(({ task }) => task.id)]).toEqual([4, ["a", "b", "d"]]);
    const rest = await store.list({ owner: "me", limit: 3, after: { changedAt: 3, id: "d" } });
    expect(rest.records.map(({ task }) => task.id)).toEqual(["c"]);
    expect((await store.list({ owner: "you", limit: 3 })).total).toBe(0);
    expect(() => new PostgresTaskStore(pool, { table: "x; DROP TABLE y" })).toThrow(
      /table must be a name/,
    );
  });
});
