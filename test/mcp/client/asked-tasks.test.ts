/** A server of 2025-11-25 may request answers later, as those of tasks. */
import { Host, RpcError, silentLog, success } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import { type McpClientOptions, mcpChannelLink, mcpClient } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";

const yes = { action: "accept", content: { name: "Ada" } } as const;
const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };
const related = (taskId: string) => ({ "io.modelcontextprotocol/related-task": { taskId } });

interface Created {
  readonly task: { readonly taskId: string; readonly status: string; readonly ttl: number };
}

/** A client, and the server that it is connected to, which sends the questions of the tests. */
async function connected(options: Partial<McpClientOptions>) {
  const [near, far] = memoryChannels();
  let declared: unknown;
  const service = new Host((request) => {
    if (request.method !== "initialize") return undefined;
    declared = (request.params as { capabilities?: unknown }).capabilities;
    const serverInfo = { name: "asking", version: "1" };
    return success({ protocolVersion: "2025-11-25", capabilities: {}, serverInfo });
  });
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const server = new Connection(far, { service, transport });
  const client = mcpClient(
    mcpChannelLink(() => near),
    { name: "test", version: "1", log: silentLog, era: "legacy", ...options },
  );
  await client.connect();
  const begin = async (method: string, params: object = {}): Promise<Created["task"]> =>
    ((await server.call(method, { ...params, task: {} })) as Created).task;
  return { client, server, declared, begin };
}

test("only what there are handlers for is declared", async () => {
  const { client, declared } = await connected({ roots: [] });
  expect(declared).not.toHaveProperty("tasks");
  await client.close();
  const both = await connected({ elicitUrl: () => yes, sample: () => Promise.reject() });
  expect(both.declared).toMatchObject({
    tasks: {
      list: {},
      cancel: {},
      requests: { elicitation: { create: {} }, sampling: { createMessage: {} } },
    },
  });
  await both.client.close();
});

test("a question is answered later, and the server waits for it or looks after it", async () => {
  let answer: (value: typeof yes) => void = () => {};
  const asked: unknown[] = [];
  const { client, server } = await connected({
    elicitForm: (params) => {
      asked.push(params);
      return new Promise((resolve) => {
        answer = resolve;
      });
    },
  });
  const created = await server.call("elicitation/create", { ...form, task: { ttl: 5_000 } });
  const { taskId } = (created as Created).task;
  expect(created).toMatchObject({ task: { status: "working", ttl: 5_000 } });
  // Handlers get the same questions as always.
  expect(asked).toEqual([form]);
  expect(await server.call("tasks/get", { taskId })).toMatchObject({ taskId, status: "working" });
  expect(await server.call("tasks/list", {})).toMatchObject({ tasks: [{ taskId }] });
  const result = server.call("tasks/result", { taskId });
  answer(yes);
  expect(await result).toEqual({ ...yes, _meta: related(taskId) });
  expect(await server.call("tasks/get", { taskId })).toMatchObject({ status: "completed" });
  await expect(server.call("tasks/cancel", { taskId })).rejects.toMatchObject({ code: -32602 });
  await client.close();
});

test("what a handler throws is what the result fails with", async () => {
  const thrown: Error[] = [new RpcError(-1, "the user said no"), new Error("secret")];
  const { client, server, begin } = await connected({
    sample: () => {
      throw thrown.shift();
    },
  });
  const first = await begin("sampling/createMessage", { messages: [], maxTokens: 1 });
  await expect(server.call("tasks/result", { taskId: first.taskId })).rejects.toMatchObject({
    code: -1,
    message: "the user said no",
  });
  expect(await server.call("tasks/get", { taskId: first.taskId })).toMatchObject({
    status: "failed",
    statusMessage: "the user said no",
  });
  const second = await begin("sampling/createMessage", { messages: [], maxTokens: 1 });
  await expect(server.call("tasks/result", { taskId: second.taskId })).rejects.toMatchObject({
    code: -32603,
    message: "Internal error",
  });
  await client.close();
});

test("a task that is cancelled stops its handler, and has no result, not even a late one", async () => {
  let finish: () => void = () => {};
  const { client, server, begin } = await connected({
    elicitForm: (_, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => {
          finish = () => resolve(yes);
        });
      }),
  });
  const { taskId } = await begin("elicitation/create", form);
  const waiting = server.call("tasks/result", { taskId });
  waiting.catch(() => {});
  expect(await server.call("tasks/cancel", { taskId })).toMatchObject({ status: "cancelled" });
  finish();
  await expect(waiting).rejects.toMatchObject({ code: -32800 });
  await expect(server.call("tasks/result", { taskId })).rejects.toMatchObject({ code: -32800 });
  expect(await server.call("tasks/get", { taskId })).toMatchObject({ status: "cancelled" });
  await client.close();
});

test("a server may ask how long a task is kept, up to an hour", async () => {
  const { client, server } = await connected({ elicitForm: () => new Promise(() => {}) });
  const ttlOf = async (ttl: number) => {
    const params = { ...form, task: { ttl } };
    return ((await server.call("elicitation/create", params)) as Created).task.ttl;
  };
  expect(await ttlOf(5_000)).toBe(5_000);
  expect(await ttlOf(1e12)).toBe(3_600_000);
  await client.close();
});

test("tasks are bounded in number and in time, and end with the client", async () => {
  const clock = new FakeClock();
  const signals: AbortSignal[] = [];
  const { client, server, begin } = await connected({
    clock,
    elicitForm: (_, { signal }) => {
      signals.push(signal);
      return new Promise(() => {});
    },
  });
  const { taskId, ttl } = await begin("elicitation/create", form);
  for (let i = 1; i < 100; i++) await begin("elicitation/create", form);
  await expect(begin("elicitation/create", form)).rejects.toMatchObject({ code: -32005 });
  clock.advance(ttl + 1);
  await expect(server.call("tasks/get", { taskId })).rejects.toMatchObject({ code: -32602 });
  expect(signals).toHaveLength(100);
  expect(signals.every((signal) => signal.aborted)).toBe(true);
  await begin("elicitation/create", form);
  await client.close();
  expect(signals.at(-1)?.aborted).toBe(true);
});

test("what cannot be a task is answered at once, and unknown tasks are refused", async () => {
  const roots = [{ uri: "file:///home" }];
  const { client, server } = await connected({ roots, elicitForm: () => yes });
  expect(await server.call("roots/list", { task: {} })).toEqual({ roots });
  expect(await server.call("elicitation/create", form)).toEqual(yes);
  await expect(
    server.call("sampling/createMessage", { messages: [], task: {} }),
  ).rejects.toMatchObject({ code: -32601 });
  for (const method of ["tasks/get", "tasks/result", "tasks/cancel"]) {
    await expect(server.call(method, { taskId: "x" })).rejects.toMatchObject({ code: -32602 });
    await expect(server.call(method, {})).rejects.toMatchObject({ code: -32602 });
  }
  await expect(server.call("tasks/list", { cursor: "x" })).rejects.toMatchObject({ code: -32602 });
  await expect(server.call("tasks/other", {})).rejects.toMatchObject({ code: -32601 });
  await client.close();
});
