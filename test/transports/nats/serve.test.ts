import {
  createClient,
  createServer,
  ErrorCode,
  Host,
  type Log,
  method,
  RpcError,
  silentLog,
  success,
} from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { serveDurable } from "callwire/nats/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { deferred } from "../contract/wire.ts";
import { turn } from "../contract-methods.ts";
import { patient, TestNats } from "./test-nats.ts";

const subject = "test";

describeWith(["nats-server"], "serveNats", () => {
  test("workers are found and measured by NATS's service protocol", async () => {
    const testNats = await TestNats.start();
    const identity = { name: "calculator", version: "1.2.3", description: "Sums" };
    const methods = {
      math: {
        add: (a: number, b: number) => a + b,
        fail: method({}, async () => {
          throw new RpcError(1001, "Refused");
        }),
      },
    };
    const { worker } = await testNats.serve(methods, identity);
    const connection = await testNats.connect();
    const client = createClient(natsLink(connection, { subject }));
    await client.call("math/add", [2, 3]);
    await client.call("math/fail").catch(() => {});
    const ask = async (verb: string): Promise<Record<string, unknown>> =>
      (await connection.request(verb, "", patient)).json();
    const who = { name: "calculator", id: worker.id, version: "1.2.3", metadata: {} };
    const ping = { type: "io.nats.micro.v1.ping_response", ...who };
    for (const where of ["", ".calculator", `.calculator.${worker.id}`]) {
      expect(await ask(`$SRV.PING${where}`)).toEqual(ping);
    }
    const info = await ask("$SRV.INFO.calculator");
    expect(info).toMatchObject({
      type: "io.nats.micro.v1.info_response",
      ...who,
      description: "Sums",
    });
    const endpoint = { name: "math-add", subject: "test.math.add", queue_group: "q" };
    expect(info.endpoints).toContainEqual({ ...endpoint, metadata: {} });
    const stats = await ask("$SRV.STATS");
    expect(stats.type).toBe("io.nats.micro.v1.stats_response");
    expect(new Date(stats.started as string).getTime()).toBeGreaterThan(0);
    expect(stats.endpoints).toContainEqual(
      expect.objectContaining({ ...endpoint, num_requests: 1, num_errors: 0, last_error: "" }),
    );
    expect(stats.endpoints).toContainEqual(
      expect.objectContaining({ name: "math-fail", num_errors: 1, last_error: "1001:Refused" }),
    );
    await worker.close();
    await expect(ask("$SRV.PING.calculator")).rejects.toThrow(/no responders/i);
  });

  test("a worker continues if its description is too long for NATS", async () => {
    const testNats = await TestNats.start("max_payload: 4096");
    const names = Array.from({ length: 100 }, (_, i) => `method${i}`);
    const methods = Object.fromEntries(names.map((name) => [name, () => name]));
    const { worker } = await testNats.serve(methods, { name: "many" });
    const connection = await testNats.connect();
    const info = (await connection.request("$SRV.INFO", "", patient)).json();
    expect(info).toMatchObject({ name: "many", id: worker.id, endpoints: [] });
    const client = createClient(natsLink(connection, { subject }));
    expect(await client.call("method7")).toBe("method7");
  });

  test("callers do not decide how long the reported errors are", async () => {
    const testNats = await TestNats.start("max_payload: 4096");
    const find = method({}, (name) => {
      throw new RpcError(1001, `There is no ${name}`);
    });
    await testNats.serve({ find, found: find });
    const connection = await testNats.connect();
    const client = createClient(natsLink(connection, { subject }));
    for (const name of ["find", "found"]) {
      await expect(client.call(name, ["x".repeat(3_000)])).rejects.toMatchObject({ code: 1001 });
    }
    const stats = (await connection.request("$SRV.STATS", "", patient)).json<{
      endpoints: { num_errors: number; last_error: string }[];
    }>();
    const told = stats.endpoints.filter(({ num_errors }) => num_errors === 1);
    expect(told.map(({ last_error }) => last_error.length)).toEqual([256, 256]);
  });

  test("a service that does not list its methods is served too", async () => {
    const testNats = await TestNats.start();
    const host = new Host((request) => success(`${request.method} was called`));
    onTestFinished(() => host.close());
    await serveNats(host, await testNats.connect(), { subject });
    const client = createClient<{ any: { thing(): string }; other(): string }>(
      natsLink(await testNats.connect(), { subject }),
    );
    expect(await client.call("any/thing")).toBe("any/thing was called");
    expect(await client.batch((b) => [b.any.thing(), b.other()])).toEqual([
      "any/thing was called",
      "other was called",
    ]);
  });

  test("a rolling restart of all workers under load fails no call", async () => {
    const testNats = await TestNats.start();
    // Too long for a subject of its own.
    const longName = "x".repeat(300);
    const methods = {
      quick: (value: number) => value,
      slow: async (value: number) => {
        for (let i = 0; i < 5; i++) await turn();
        return value;
      },
      [longName]: (value: number) => value,
    };
    let workers = await Promise.all([1, 2, 3].map(() => testNats.serve(methods)));
    // A nats-server that gets no CPU time is not taken for a worker that died.
    const link = natsLink(await testNats.connect(), { subject, aliveMs: Number.POSITIVE_INFINITY });
    const client = createClient<typeof methods>(link);
    let over = false;
    let calls = 0;
    const load = Array.from({ length: 32 }, async () => {
      while (!over) {
        const value = calls++;
        const name = ["quick", "slow", longName][value % 3] as string;
        expect(await client.call(name, [value])).toBe(value);
        const batch = client.batch((b) => [b.quick(value), b.slow(value)]);
        expect(await batch).toEqual([value, value]);
      }
    });
    for (let round = 0; round < 5; round++) {
      for (const old of workers.splice(0)) {
        workers.push(await testNats.serve(methods));
        const before = calls;
        while (calls < before + 10) await turn();
        // Either side may be closed first.
        if (round % 2 === 0) await old.worker.close();
        await old.server.close();
        await old.connection.close();
      }
      workers = [...workers];
    }
    over = true;
    await Promise.all(load);
  });

  test("every call that arrives while the last worker leaves is answered", async () => {
    const testNats = await TestNats.start();
    const echo = (value: unknown) => value;
    // Calls are not probed, so one that got lost would never end.
    const aliveMs = Number.POSITIVE_INFINITY;
    const client = createClient(natsLink(await testNats.connect(), { subject, aliveMs }));
    for (let round = 0; round < 20; round++) {
      const { worker } = await testNats.serve({ echo });
      let over = false;
      const load = Array.from({ length: 8 }, async () => {
        while (!over) {
          const outcome = await client.call("echo", [1]).catch((error: unknown) => error);
          if (outcome !== 1) expect(outcome).toMatchObject({ code: "CONNECTION_FAILED" });
        }
      });
      await worker.close();
      over = true;
      await Promise.all(load);
    }
  });

  test("a worker that closes answers calls that take longer than it waits with an error", async () => {
    const testNats = await TestNats.start();
    const begun = deferred();
    let held = 0;
    const hold = () => {
      if (++held === 2) begun.resolve();
      return new Promise(() => {});
    };
    const { worker } = await testNats.serve({ hold, hi: () => "hi" }, { drainMs: 0 });
    const link = natsLink(await testNats.connect(), { subject, aliveMs: Number.POSITIVE_INFINITY });
    const client = createClient<{ hold(): string; hi(): string }>(link);
    const calls = [client.call("hold"), client.batch((b) => [b.hi(), b.hold()])];
    const data = {
      ran: true,
      reason: "stopping",
      details: "the server ended the call before it was done",
    };
    const told = calls.map((call) =>
      expect(call).rejects.toMatchObject({ code: ErrorCode.ShuttingDown, data }),
    );
    await begun.promise;
    await worker.close();
    await Promise.all(told);
  });

  test("a worker whose connection closes for good logs it once", async () => {
    const testNats = await TestNats.start('jetstream: { store_dir: "$FOLDER" }');
    const told: { level: string; message: string }[] = [];
    const log = {
      ...silentLog,
      warn: (_: object, message: string) => told.push({ level: "warn", message }),
      error: (_: object, message: string) => told.push({ level: "error", message }),
    };
    const server = createServer({ add: (a: number, b: number) => a + b }, { log });
    onTestFinished(() => server.close());
    const connection = await testNats.connect({ maxReconnectAttempts: 1, reconnectTimeWait: 10 });
    await serveNats(server, connection, { subject });
    // A worker that has left serves nothing, so it logs nothing.
    await (await serveNats(server, connection, { subject: "left" })).close();
    await serveDurable(server, connection, { subject: "jobs" });
    const deliberate = await testNats.connect();
    await serveNats(server, deliberate, { subject: "other" });
    await deliberate.close();
    await expect.poll(() => told).toHaveLength(1);
    await testNats.nats.kill();
    await connection.closed();
    await expect.poll(() => told).toHaveLength(3);
    // The error of the last try depends on how far nats-server's side has come.
    const line = expect.stringMatching(
      /^connection to NATS was closed; this worker no longer serves: .+$/,
    );
    expect(told).toEqual([
      { level: "warn", message: "connection to NATS was closed; this worker no longer serves" },
      { level: "error", message: line },
      { level: "error", message: line },
    ]);
  });

  test("a name that NATS would refuse is refused before the worker takes a call", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect();
    const server = createServer({ add: (a: number, b: number) => a + b }, { log: silentLog });
    onTestFinished(() => server.close());
    for (const wrong of ["name: my worker", "name: a.b", "name: ", "queue: a b", "queue: "]) {
      const [option = "", value] = wrong.split(": ");
      await expect(serveNats(server, connection, { subject, [option]: value })).rejects.toThrow(
        /^"(name|queue)" must not be empty or contain spaces/,
      );
    }
    const client = createClient(natsLink(await testNats.connect(), { subject }));
    await expect(client.call("add", [1, 2])).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    await serveNats(server, connection, { subject, queue: "a.b" });
    expect(await client.call("add", [1, 2])).toBe(3);
  });

  test("a worker that closes answers all of a long batch, also what it had not begun", async () => {
    const testNats = await TestNats.start();
    const methods = { slow: () => new Promise<void>(() => {}) };
    const server = createServer(methods, { log: silentLog, limits: { maxBatchConcurrency: 2 } });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const worker = await serveNats(server, await testNats.connect(), { subject, drainMs: 10 });
    const link = natsLink(await testNats.connect(), { subject });
    const client = createClient<typeof methods>(link);
    const replies = client.batchSettled((b) => Array.from({ length: 5 }, () => b.slow()));
    while (server.running.size < 2) await turn();
    await worker.close();
    const reason = expect.objectContaining({ code: ErrorCode.ShuttingDown });
    expect(await replies).toEqual(Array(5).fill({ status: "rejected", reason }));
  });

  test("a worker that may not reply logs it once", async () => {
    const testNats = await TestNats.start(`
      authorization: { users: [
        { user: worker, password: w, permissions: { publish: { deny: ["_INBOX.>", "other.>"] } } }
        { user: guest, password: g }
      ] }`);
    const told: string[] = [];
    const log: Log = { ...silentLog, error: (_, message) => void told.push(message) };
    const server = createServer({ add: (a: number, b: number) => a + b }, { log });
    onTestFinished(() => server.close());
    const connection = await testNats.connect({ user: "worker", pass: "w" });
    await serveNats(server, connection, { subject });
    // An error that the caller gets is not logged as well.
    const denied = createClient(natsLink(connection, { subject: "other" }));
    await expect(denied.call("x")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const guest = await testNats.connect({ user: "guest", pass: "g" });
    const request = JSON.stringify({ jsonrpc: "2.0", method: "add", params: [2, 3], id: 1 });
    for (const inbox of ["_INBOX.one", "_INBOX.two"]) {
      guest.publish(`${subject}.add`, request, { reply: inbox });
    }
    await expect.poll(() => told).toHaveLength(1);
    expect(told[0]).toBe("this NATS user may not publish to _INBOX.one; replies to it are lost");
    // The second refusal has arrived by now, too: nats-server reports them in their order.
    await connection.flush();
    expect(told).toHaveLength(1);
  });

  test("a connection that is closed is refused as every other failure of the wire", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect();
    await connection.close();
    const refusal = {
      name: "WireError",
      code: "CONNECTION_FAILED",
      message: "the connection to NATS is closed",
    };
    expect(() => natsLink(connection, { subject })).toThrow(expect.objectContaining(refusal));
    const server = createServer({});
    onTestFinished(() => server.close());
    await expect(serveNats(server, connection, { subject })).rejects.toMatchObject(refusal);
  });
});
