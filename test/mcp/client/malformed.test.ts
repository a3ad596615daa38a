/**
 * A server's results have what their types promise, or the client throws an error that says what is
 * missing.
 */
import { silentLog } from "callwire";
import { type McpClient, McpTask, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { expect, test } from "vitest";
import { legacy, modern, rawServer, result } from "./raw-server.ts";

const self = { name: "test", version: "1.0.0", log: silentLog };
const block = { type: "text", text: "hi" };
const working = { taskId: "t", status: "working", ttlMs: null, pollIntervalMs: 0 };

type Ask = (client: McpClient) => Promise<unknown>;

const callTool: Ask = (client) => client.callTool("x");
const tools: Ask = (client) => client.tools().all();
const resources: Ask = (client) => client.resources().all();
const templates: Ask = (client) => client.resourceTemplates().all();
const prompts: Ask = (client) => client.prompts().all();
const read: Ask = (client) => client.readResource("a:b");
const getPrompt: Ask = (client) => client.getPrompt("x");
const complete: Ask = (client) =>
  client.complete({ type: "ref/prompt", name: "x" }, { name: "a", value: "" });
const task: Ask = (client) => client.task("t");

/** Makes a request of a server that has one result for everything. */
async function outcome(ask: Ask, given: unknown, era = modern): Promise<unknown> {
  await using server = await rawServer(
    era((request, response) => result(response, request, given as object)),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  return await ask(client);
}

test.each<[sentence: string, Ask, given: unknown]>([
  ["the result of tools/list is not an object", tools, null],
  ["the result of tools/list has no array at tools", tools, { tools: "nope" }],
  ["the result of tools/list has no object at tools[0]", tools, { tools: [null] }],
  ["the result of tools/list has no string at tools[0].name", tools, { tools: [{}] }],
  [
    "the result of tools/list has no object at tools[0].inputSchema",
    tools,
    { tools: [{ name: "x" }] },
  ],
  ["the result of resources/list has no array at resources", resources, {}],
  [
    "the result of resources/list has no string at resources[0].uri",
    resources,
    { resources: [{ name: "x" }] },
  ],
  [
    "the result of resources/templates/list has no string at resourceTemplates[0].uriTemplate",
    templates,
    { resourceTemplates: [{ name: "x" }] },
  ],
  ["the result of prompts/list has no object at prompts[0]", prompts, { prompts: [null] }],
  [
    "the result of prompts/list has no string at prompts[1].name",
    prompts,
    { prompts: [{ name: "x" }, { name: 7 }] },
  ],
  [
    "the result of prompts/list has no array at prompts[0].arguments",
    prompts,
    { prompts: [{ name: "x", arguments: {} }] },
  ],
  ["the result of tools/call is not an object", callTool, null],
  ["the result of tools/call has no array at content", callTool, { content: "text" }],
  ["the result of tools/call has no array at content", callTool, {}],
  ["the result of tools/call has no string at content[0].type", callTool, { content: [{}] }],
  [
    "the result of tools/call has no string at content[1].text",
    callTool,
    { content: [block, { type: "text" }] },
  ],
  [
    "the result of tools/call has no string at content[0].data",
    callTool,
    { content: [{ type: "image" }] },
  ],
  [
    "the result of tools/call has no object at content[0].resource",
    callTool,
    { content: [{ type: "resource" }] },
  ],
  ["the result of tools/call has no string at taskId", callTool, { resultType: "task" }],
  [
    "the result of tools/call has no known status at status",
    callTool,
    { ...working, status: "done", resultType: "task" },
  ],
  [
    "the result of tools/call has no object at inputRequests.a",
    callTool,
    { resultType: "input_required", inputRequests: { a: 5 } },
  ],
  ["the result of resources/read has no array at contents", read, {}],
  [
    "the result of resources/read has no text or blob at contents[0]",
    read,
    { contents: [{ uri: "a:b" }] },
  ],
  ["the result of prompts/get has no string at messages[0].role", getPrompt, { messages: [{}] }],
  [
    "the result of prompts/get has no object at messages[0].content",
    getPrompt,
    { messages: [{ role: "user" }] },
  ],
  ["the result of completion/complete has no object at completion", complete, {}],
  [
    "the result of completion/complete has no string at completion.values[0]",
    complete,
    { completion: { values: [1] } },
  ],
  ["the result of tasks/get has no string at taskId", task, {}],
])("%s", async (sentence, ask, given) => {
  await expect(outcome(ask, given)).rejects.toMatchObject({
    name: "WireError",
    code: "BAD_REPLY",
    message: sentence,
  });
});

test("the result of a task is checked like any other", async () => {
  await using server = await rawServer(
    modern((request, response) => {
      const isCall = request.message.method === "tools/call";
      const over = { ...working, status: "completed", result: { content: 5 } };
      result(response, request, isCall ? { ...working, resultType: "task" } : over);
    }),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  const sentence = "the result of the task has no array at content";
  await expect(client.callTool("x")).rejects.toMatchObject({
    code: "BAD_REPLY",
    message: sentence,
  });
  const begun = await client.beginTool("x");
  expect(begun).toBeInstanceOf(McpTask);
});

test("a server of the legacy era is not an exception", async () => {
  await expect(outcome(callTool, { content: [null] }, legacy)).rejects.toMatchObject({
    code: "BAD_REPLY",
    message: "the result of tools/call has no object at content[0]",
  });
});

test("members and kinds of content that are not known pass, and so does null for what is left out", async () => {
  const content = [
    { type: "hologram", depth: 3 },
    { ...block, more: true },
  ];
  expect(await outcome(callTool, { content, more: 1 })).toEqual({ content, more: 1 });
  const listed = { name: "x", title: null, description: null, inputSchema: {}, outputSchema: null };
  expect(await outcome(tools, { tools: [listed], nextCursor: null })).toEqual([listed]);
});

test("with structured content, the other kind may be left out", async () => {
  const structuredContent = { sum: 5 };
  expect(await outcome(callTool, { structuredContent })).toEqual({
    content: [],
    structuredContent,
  });
});

/** A tool whose server invents its schema, and always returns the same. */
async function checkedBy(outputSchema: object): Promise<unknown> {
  await using server = await rawServer(
    modern((request, response) => {
      const tool = { name: "x", inputSchema: { type: "object" }, outputSchema };
      const given = { content: [], structuredContent: { a: `${"a".repeat(40)}!` } };
      const isList = request.message.method === "tools/list";
      result(response, request, isList ? { tools: [tool] } : given);
    }),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await client.tools().all();
  return await client.callTool("x");
}

test("a schema that is invalid or endless to check does not block calls", async () => {
  const twice = (ref: string) => ({ anyOf: [{ $ref: ref }, { $ref: ref }] });
  const forms = Array.from({ length: 64 }, (_, i) => [`f${i}`, twice(`#/$defs/f${i + 1}`)]);
  const $defs = { ...Object.fromEntries(forms), f64: false };
  const tooLong = "the structured content of x does not match its schema: takes too long to check";
  for (const [schema, message] of [
    [{ $ref: "#" }, tooLong],
    [{ $defs, $ref: "#/$defs/f0" }, tooLong],
    [{ type: 5 }, "the structured content of x does not match its schema: it could not be checked"],
  ] as const) {
    await expect(checkedBy(schema)).rejects.toMatchObject({ code: "BAD_REPLY", message });
  }
  // Patterns are not checked: one of these never ends, and the other is not a pattern.
  for (const pattern of ["^(a+)+$", "["]) {
    const schema = { properties: { a: { pattern } }, patternProperties: { [pattern]: false } };
    await checkedBy({ ...schema, additionalProperties: false });
    await checkedBy({ ...schema, properties: {}, additionalProperties: false });
  }
  await expect(checkedBy({ properties: { a: { maxLength: 1 } } })).rejects.toMatchObject({
    message:
      "the structured content of x does not match its schema: a must have at most 1 characters",
  });
});

test("a page of very many entries is read whole", async () => {
  const entries = Array.from({ length: 200_000 }, () => ({ name: "x", uri: "a:b" }));
  expect(await outcome(resources, { resources: entries })).toHaveLength(200_000);
});
