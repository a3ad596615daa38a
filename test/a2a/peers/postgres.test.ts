import { a2aClient, type StreamResponse } from "callwire/a2a";
import { PostgresWorkStore } from "callwire/work/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sharedSessionTests } from "../../mcp/server/shared-sessions.ts";
import { describeWith } from "../../services.ts";
import { recordOf, sharedStoreContract, storeContract } from "../../work/store-contract.ts";
import { gate, says, serveAgent } from "../served-agent.ts";
import { type PostgresServer, startPostgres } from "./postgres-server.ts";

describeWith(["a2a peers", "postgresql"], "work in PostgreSQL", () => {
  let server: PostgresServer;
  let pool: pg.Pool;

  beforeAll(async () => {
    server = await startPostgres();
    pool = new pg.Pool(server.config);
    // A connection that is still closing when the server stops.
    pool.on("error", () => {});
    await new PostgresWorkStore(pool).prepare();
  });

  afterAll(async () => {
    await pool?.end();
    await server?.stop();
  });

  test("tasks are read, listed, followed and cancelled by another process of the fleet", async () => {
    const [step, end] = [gate(), gate()];
    const aborted = gate();
    const one = await serveAgent({
      store: new PostgresWorkStore(pool),
      async *execute({ text }, { signal }) {
        signal.addEventListener("abort", () => aborted.open());
        yield "one ";
        await step.passed;
        yield "two ";
        await end.passed;
        yield text;
      },
    });
    const other = await serveAgent({ store: new PostgresWorkStore(pool), execute: () => "other" });
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

  let tables = 0;
  const emptyStore = async () => {
    const store = new PostgresWorkStore(pool, { table: `work_${++tables}` });
    await store.prepare();
    return store;
  };
  storeContract(emptyStore);
  sharedStoreContract(emptyStore);
  describe("with the sessions of MCP servers", () => sharedSessionTests(emptyStore));

  test("tasks are not found after they expire, and are removed when others are added", async () => {
    const store = await emptyStore();
    await store.save(recordOf("old", { ttlMs: 1 }));
    await expect.poll(() => store.load("old")).toBeUndefined();
    await store.save(recordOf("new"));
    const { rows } = await pool.query(`SELECT id FROM work_${tables}`);
    expect(rows).toEqual([{ id: "new" }]);
  });

  test("tasks cannot be in a table whose name is SQL", () => {
    expect(() => new PostgresWorkStore(pool, { table: "x; DROP TABLE y" })).toThrow(
      /table must be a name/,
    );
  });
});
