/** An MCP server behind an agent, and an agent behind an MCP server. */

import { createServer, method, silentLog, stream } from "callwire";
import { a2aAgent, a2aClient } from "callwire/a2a";
import { a2aMounts } from "callwire/a2a/node";
import { serveHttp } from "callwire/http/node";
import { agentTool, mcpServer, tool } from "callwire/mcp";
import { mcpClient, mcpMemoryLink } from "callwire/mcp/client";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { serveAgent } from "./served-agent.ts";

const info = { name: "test", version: "1", log: silentLog };

test("the methods of a server are skills of an agent, with their access rules", async () => {
  const numbers = z.object({ a: z.number(), b: z.number() });
  const agent = a2aAgent.fromMethods(
    {
      math: {
        add: method({ params: numbers, description: "Adds" }, ({ a, b }) => a + b),
        count: stream({}, function* () {
          yield 1;
          yield 2;
        }),
      },
      secret: method({ access: { roles: ["admin"] } }, () => "hidden"),
    },
    { card: { name: "Math", description: "Counts" }, log: silentLog },
  );
  const http = await serveHttp(createServer({}), { port: 0, mounts: a2aMounts(agent) });
  onTestFinished(() => http.close());
  const caller = await a2aClient(`http://127.0.0.1:${http.port}`);
  expect(caller.card.skills.map(({ id }) => id)).toEqual(["math/add", "math/count", "secret"]);
  const answer = async (skill: string, params: object = {}) => {
    const sent = await caller.send({ data: { skill, params } });
    if (!("task" in sent)) throw new Error("a skill must be a task");
    const { status, artifacts } = sent.task;
    return [status.state, artifacts?.flatMap(({ parts }) => parts.map(({ data }) => data))];
  };
  expect(await answer("math/add", { a: 2, b: 3 })).toEqual(["TASK_STATE_COMPLETED", [5]]);
  expect(await answer("math/count")).toEqual(["TASK_STATE_COMPLETED", [1, 2]]);
  expect(await answer("math/add", { a: "2" })).toEqual(["TASK_STATE_FAILED", undefined]);
  expect(await answer("secret")).toEqual(["TASK_STATE_FAILED", undefined]);
  await expect(caller.send({ data: { skill: "none" } })).rejects.toMatchObject({ code: -32602 });
});

test("a skill has an example of what it accepts, unless none is known", () => {
  const agent = a2aAgent.fromMethods(
    {
      greet: (name = "you") => name,
      add: (a: number, b: number) => a + b,
      send: method(
        { params: z.object({ to: z.enum(["a", "b"]), text: z.string(), times: z.int().min(2) }) },
        () => 1,
      ),
      mail: method({ params: z.object({ to: z.email() }) }, () => 1),
      own: method(
        { params: z.object({ x: z.number() }), examples: [{ params: { x: 7 } }] },
        () => 1,
      ),
    },
    { card: { name: "Skills", description: "Shows examples" }, log: silentLog },
  );
  return expect(
    agent.card("").then(({ skills }) => skills.map(({ examples }) => examples)),
  ).resolves.toEqual([
    ['{"skill":"greet","params":{}}'],
    ['{"skill":"add","params":{"a":1,"b":1}}'],
    ['{"skill":"send","params":{"to":"a","text":"text","times":2}}'],
    undefined,
    ['{"skill":"own","params":{"x":7}}'],
  ]);
});

test("the tools of an MCP server are skills of an agent", async () => {
  const numbers = z.object({ a: z.number(), b: z.number() });
  const tools = mcpServer(
    {
      add: tool({ description: "Adds", input: numbers }, ({ a, b }) => ({ sum: a + b })),
      say: tool({}, () => [{ type: "text" as const, text: "hello" }]),
      fail: tool({}, () => ({ content: [{ type: "text", text: "no" }], isError: true })),
    },
    info,
  );
  const client = mcpClient(mcpMemoryLink(tools), info);
  const card = { name: "Tools", description: "Calls tools" };
  const agent = await a2aAgent.fromTools(client, { card, log: silentLog });
  const http = await serveHttp(createServer({}), { port: 0, mounts: a2aMounts(agent) });
  onTestFinished(async () => {
    await http.close();
    await client.close();
  });
  const caller = await a2aClient(`http://127.0.0.1:${http.port}`);
  expect(caller.card.skills.map(({ id, description }) => [id, description])).toEqual([
    ["add", "Adds"],
    ["say", "say"],
    ["fail", "fail"],
  ]);
  const call = async (skill: string, params: object = {}) => {
    const answer = await caller.send({ data: { skill, params } });
    if (!("task" in answer)) throw new Error("expected a task");
    const { status, artifacts } = answer.task;
    return [status.state, artifacts?.[0]?.parts ?? status.message?.parts];
  };
  expect(await call("add", { a: 2, b: 3 })).toEqual([
    "TASK_STATE_COMPLETED",
    [{ data: { sum: 5 } }],
  ]);
  expect(await call("say")).toEqual(["TASK_STATE_COMPLETED", [{ text: "hello" }]]);
  expect(await call("fail")).toEqual(["TASK_STATE_FAILED", [{ text: "no" }]]);
  await expect(caller.send({ data: { skill: "none" } })).rejects.toMatchObject({ code: -32602 });
});

test("an agent is a tool of an MCP server, and can ask", async () => {
  const { base } = await serveAgent({
    async *execute({ text }, { history }) {
      if (text === "fail") yield { state: "failed", message: "no" };
      else if (history.length > 1) yield `Hello, ${text}`;
      else yield { state: "input-required", message: "Who are you?" };
    },
  });
  const server = mcpServer({ greet: agentTool(await a2aClient(base)) }, info);
  const client = mcpClient(mcpMemoryLink(server), info);
  onTestFinished(() => client.close());
  const asked = await client.callTool("greet", { message: "hi" });
  expect(asked).toMatchObject({
    content: [{ type: "text", text: "Who are you?" }],
    structuredContent: { state: "TASK_STATE_INPUT_REQUIRED" },
  });
  const { taskId } = asked.structuredContent as { taskId: string };
  expect(await client.callTool("greet", { message: "Ada", taskId })).toMatchObject({
    content: [{ text: "Hello, Ada" }],
    structuredContent: { taskId, state: "TASK_STATE_COMPLETED" },
  });
  expect(await client.callTool("greet", { message: "fail" })).toMatchObject({ isError: true });
});
