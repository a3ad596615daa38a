import { createServer, Host, silentLog, success } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import { serveHttp } from "callwire/http/node";
import { McpError, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { connectSocket, serveSocket } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { ask, askModern, eventsOf, HttpClient, request } from "./asking.ts";

const info = { name: "test", version: "1", log: silentLog };
const extension = { extensions: { "io.modelcontextprotocol/tasks": {} }, elicitation: {} };

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function work() {
  let finish = (_: string): void => {};
  const job = tool(
    { task: "optional" },
    (_, call) =>
      new Promise<string>((resolve, reject) => {
        finish = resolve;
        call.signal.addEventListener("abort", () => reject(call.signal.reason));
      }),
  );
  const asks = tool({ task: "required" }, async (_, call) => {
    const { content } = await call.elicit("Name?", z.object({ name: z.string() }), { key: "n" });
    return `Hello, ${content?.name}`;
  });
  const breaks = tool({ task: "optional" }, () => {
    throw new McpError(-32603, "It broke");
  });
  return { methods: { job, asks, breaks }, finish: (text: string) => finish(text) };
}

test("in the modern era a task is polled until it ends", async () => {
  const { methods, finish } = work();
  const server = mcpServer(methods, info);
  const created = await askModern(server, "tools/call", { name: "job" }, extension);
  expect(created.result).toMatchObject({ resultType: "task", status: "working" });
  const taskId = created.result?.taskId;
  finish("done");
  const get = () => askModern(server, "tasks/get", { taskId }, extension);
  await new Promise((resolve) => setImmediate(resolve));
  expect((await get()).result).toMatchObject({
    resultType: "complete",
    status: "completed",
    result: { content: [{ text: "done" }] },
  });
  expect((await askModern(server, "tasks/get", { taskId })).error?.code).toBe(-32021);
  expect((await askModern(server, "tasks/get", { taskId: "x" }, extension)).error?.code).toBe(
    -32602,
  );
});

test("a client without tasks waits for the answer, unless there is no other way", async () => {
  const { methods } = work();
  const server = mcpServer(methods, info);
  expect((await askModern(server, "tools/call", { name: "breaks" })).error?.code).toBe(-32603);
  expect((await askModern(server, "tools/call", { name: "asks" })).error?.code).toBe(-32021);
});

test("a task is cancelled, and forgotten when it expires", async () => {
  const clock = new FakeClock();
  const { methods } = work();
  const server = mcpServer(methods, { ...info, clock, tasks: { ttlMs: 1_000 } });
  const begin = async () =>
    (await askModern(server, "tools/call", { name: "job" }, extension)).result?.taskId;
  const statusOf = async (taskId: unknown) =>
    (await askModern(server, "tasks/get", { taskId }, extension)).result?.status;
  const first = await begin();
  for (let i = 0; i < 2; i++) {
    const { result } = await askModern(server, "tasks/cancel", { taskId: first }, extension);
    expect(result).toMatchObject({ resultType: "complete" });
  }
  expect(await statusOf(first)).toBe("cancelled");
  clock.advance(1_001);
  expect(await statusOf(first)).toBeUndefined();
});

test("a client may ask for another time, of at most an hour", async () => {
  const { methods } = work();
  const server = mcpServer(methods, info);
  const timeOf = async (ttl: number) => {
    const { result } = await ask(server, "tools/call", { name: "job", task: { ttl } });
    return result?.task;
  };
  expect(await timeOf(5_000)).toMatchObject({ ttl: 5_000 });
  expect(await timeOf(1e12)).toMatchObject({ ttl: 3_600_000 });
});

test("tasks are bounded in number; finished ones make room", async () => {
  const { methods } = work();
  const server = mcpServer(methods, { ...info, tasks: { maxTasks: 2 } });
  const begin = () => askModern(server, "tools/call", { name: "job" }, extension);
  const first = await begin();
  await begin();
  expect((await begin()).error?.code).toBe(-32005);
  await askModern(server, "tasks/cancel", { taskId: first.result?.taskId }, extension);
  expect((await begin()).result?.status).toBe("working");
});

test("results of tasks are bounded in memory: the oldest is dropped", async () => {
  const echo = tool({ task: "optional" }, ({ value }) => String(value));
  const server = mcpServer({ echo }, { ...info, tasks: { maxBytes: 20_000 } });
  const about = (method: string, params: object) => askModern(server, method, params, extension);
  const run = async (): Promise<unknown> => {
    const args = { value: "x".repeat(4_000) };
    const { result } = await about("tools/call", { name: "echo", arguments: args });
    const get = async () => (await about("tasks/get", { taskId: result?.taskId })).result;
    while ((await get())?.status === "working") await turn();
    return result?.taskId;
  };
  const ids = [await run(), await run(), await run()];
  const kept = await Promise.all(ids.map((taskId) => about("tasks/get", { taskId })));
  expect(kept.map(({ result }) => result?.status)).toEqual([undefined, "completed", "completed"]);
});

test("arguments of tasks that run are bounded in memory until their methods end", async () => {
  const { methods } = work();
  const server = mcpServer(methods, { ...info, tasks: { maxBytes: 20_000 } });
  const begin = () => {
    const params = { name: "job", arguments: { value: "x".repeat(4_000) } };
    return askModern(server, "tools/call", params, extension);
  };
  const first = await begin();
  await begin();
  expect((await begin()).error?.code).toBe(-32005);
  await askModern(server, "tasks/cancel", { taskId: first.result?.taskId }, extension);
  await turn();
  expect((await begin()).result?.status).toBe("working");
});

test("methods that continue after their task was cancelled are bounded in number too", async () => {
  let runs = 0;
  const stuck = tool({ task: "optional" }, () => {
    runs++;
    return new Promise(() => {});
  });
  const server = mcpServer({ stuck }, { ...info, tasks: { maxTasks: 4 } });
  const codes = new Set<number | undefined>();
  for (let i = 0; i < 20; i++) {
    const { result, error } = await askModern(server, "tools/call", { name: "stuck" }, extension);
    codes.add(error?.code);
    await askModern(server, "tasks/cancel", { taskId: result?.taskId }, extension);
  }
  expect(runs).toBeLessThanOrEqual(8);
  expect([...codes]).toEqual([undefined, -32005]);
});

test("in the legacy era the result waits, and questions reach the client that waits for it", async () => {
  const { methods } = work();
  const server = mcpServer(methods, info);
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const served = new Connection(ours, { service: server, transport });
  const asked: unknown[] = [];
  const client = new Connection(theirs, {
    transport,
    service: new Host((request) => {
      if (request.id !== undefined) asked.push(request.params);
      return success({ action: "accept", content: { name: "Ada" } });
    }),
  });
  await client.call("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
  });
  const created = (await client.call("tools/call", { name: "asks", task: { ttl: 5_000 } })) as {
    task: { taskId: string; ttl: number };
  };
  expect(created.task).toMatchObject({ status: "input_required", ttl: 5_000 });
  const { taskId } = created.task;
  const related = { "io.modelcontextprotocol/related-task": { taskId } };
  expect(await client.call("tasks/result", { taskId })).toEqual({
    content: [{ type: "text", text: "Hello, Ada" }],
    _meta: related,
  });
  expect(asked).toMatchObject([{ message: "Name?", _meta: related }]);
  expect(await client.call("tasks/list", {})).toMatchObject({ tasks: [{ taskId }] });
  await expect(client.call("tasks/cancel", { taskId })).rejects.toMatchObject({ code: -32602 });
  await client.close();
  await served.closed;
});

test("in the legacy era a question survives a client that stopped waiting, and is asked again", async () => {
  const { methods } = work();
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const served = new Connection(ours, { service: mcpServer(methods, info), transport });
  const controller = new AbortController();
  let asked = 0;
  const client = new Connection(theirs, {
    transport,
    service: new Host(({ id }) => {
      if (id === undefined) return undefined;
      if (++asked > 1) return success({ action: "accept", content: { name: "Ada" } });
      controller.abort();
      return new Promise(() => {});
    }),
  });
  await client.call("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: { elicitation: {} },
  });
  const { task } = (await client.call("tools/call", { name: "asks", task: {} })) as {
    task: { taskId: string };
  };
  const { taskId } = task;
  const { signal } = controller;
  await expect(client.call("tasks/result", { taskId }, { signal })).rejects.toThrow();
  expect(await client.call("tasks/get", { taskId })).toMatchObject({ status: "input_required" });
  expect(await client.call("tasks/result", { taskId })).toMatchObject({
    content: [{ text: "Hello, Ada" }],
  });
  expect(asked).toBe(2);
  await client.close();
  await served.closed;
});

test("in the legacy era a cancelled task has no result, however late it arrives", async () => {
  let finish: (text: string) => void = () => {};
  const job = tool(
    { task: "optional" },
    () =>
      new Promise<string>((resolve) => {
        finish = resolve;
      }),
  );
  const server = mcpServer({ job }, info);
  const { result } = await ask(server, "tools/call", { name: "job", task: {} });
  const { taskId } = (result as { task: { taskId: string } }).task;
  const waiting = ask(server, "tasks/result", { taskId });
  const cancelled = await ask(server, "tasks/cancel", { taskId });
  expect(cancelled.result).toMatchObject({ taskId, status: "cancelled" });
  finish("late");
  await new Promise((resolve) => setImmediate(resolve));
  const over = { code: -32800, message: "the task was cancelled" };
  expect((await waiting).error).toEqual(over);
  expect((await ask(server, "tasks/result", { taskId })).error).toEqual(over);
  expect((await ask(server, "tasks/get", { taskId })).result).toMatchObject({
    status: "cancelled",
  });
  await server.close();
});

test("messages of a task of the legacy era name the task; older revisions have no tasks", async () => {
  const { methods } = work();
  const reports = tool({ task: "optional" }, async (_, call) => {
    call.progress(1);
    call.message("error", "careful");
    return "done";
  });
  const server = mcpServer({ ...methods, reports }, info);
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  new Connection(ours, { service: server, transport });
  const told: { method: string; params: { _meta?: object } }[] = [];
  const client = new Connection(theirs, {
    transport,
    service: new Host((notification) => {
      told.push(notification as never);
      return undefined;
    }),
  });
  const begin = async (protocolVersion: string) => {
    await client.call("initialize", { protocolVersion, capabilities: {} });
    const params = { name: "reports", task: {}, _meta: { progressToken: "p" } };
    return (await client.call("tools/call", params)) as { task?: { taskId: string } };
  };
  const { task } = await begin("2025-11-25");
  await client.call("tasks/result", { taskId: task?.taskId });
  const related = { "io.modelcontextprotocol/related-task": { taskId: task?.taskId } };
  expect(told.map(({ method, params }) => [method, params._meta])).toEqual([
    ["notifications/progress", related],
    ["notifications/message", related],
    ["notifications/tasks/status", undefined],
  ]);
  expect(await begin("2025-06-18")).toMatchObject({ content: [{ text: "done" }] });
  await expect(client.call("tasks/list", {})).rejects.toMatchObject({ code: -32601 });
  await client.close();
  await server.close();
});

test("a task is that of the connection that began it, and of no other", async () => {
  const { methods } = work();
  await using server = mcpServer(methods, info);
  const { port } = await serveSocket(server, { port: 0 });
  const initialize = { protocolVersion: "2025-11-25", capabilities: {} };
  await using ada = await connectSocket({ port });
  await using eve = await connectSocket({ port });
  for (const each of [ada, eve]) await each.call("initialize", initialize);
  const { task } = (await ada.call("tools/call", { name: "job", task: {} })) as {
    task: { taskId: string };
  };
  const { taskId } = task;
  expect(await ada.call("tasks/list")).toMatchObject({ tasks: [{ taskId }] });
  expect(await eve.call("tasks/list")).toMatchObject({ tasks: [] });
  await expect(eve.call("tasks/cancel", { taskId })).rejects.toThrow("no such task");
  await ada.call("tasks/cancel", { taskId });
});

test("messages of a task reach a client that subscribed after it had begun", async () => {
  let report = (): void => {};
  const reports = tool({ task: "required" }, async (_, call) => {
    await new Promise<void>((resolve) => {
      report = resolve;
    });
    call.progress(1);
    return "done";
  });
  await using server = mcpServer({ reports }, info);
  await using http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
  const client = new HttpClient(new URL("/mcp", http.url).href);
  await client.initialize();
  const params = { name: "reports", task: {}, _meta: { progressToken: "p" } };
  await client.post(request("tools/call", params));
  const events = eventsOf(await client.get());
  // An empty chunk comes first.
  await events.next();
  report();
  const said = JSON.parse((await events.next()).value?.data ?? "");
  expect(said).toMatchObject({ method: "notifications/progress", params: { progress: 1 } });
  await events.return(undefined);
});

test("a tool that asks a client without that capability fails, and stays available", async () => {
  const { methods } = work();
  const asking = tool({}, (_, call) => call.roots().then(String));
  const server = mcpServer({ ...methods, asking }, info);
  const { result } = await ask(server, "tools/call", { name: "asking" });
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: "the client did not declare the capability roots" }],
  });
});

test("a task for a tool without tasks is an error, and so is a plain call of a tool that requires one", async () => {
  const { methods } = work();
  const server = mcpServer({ ...methods, plain: () => 1 }, info);
  const asTask = await ask(server, "tools/call", { name: "plain", task: {} });
  expect(asTask.error?.code).toBe(-32601);
  const without = await ask(server, "tools/call", { name: "asks" });
  expect(without.error?.code).toBe(-32601);
});
