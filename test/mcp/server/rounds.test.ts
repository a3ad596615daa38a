import { silentLog } from "callwire";
import { type McpServerOptions, MetaKey, mcpServer, resource, tool } from "callwire/mcp";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { askModern } from "./asking.ts";

const forms = { elicitation: {} };
const runs: string[] = [];

const methods = {
  trip: tool({ input: z.object({ city: z.string() }) }, async ({ city }, call) => {
    runs.push("begun");
    const who = await call.elicit("Who?", z.object({ name: z.string() }));
    const when = await call.elicit("When?", z.object({ day: z.number() }));
    runs.push("booked");
    return `${who.content?.name} goes to ${city} on day ${when.content?.day}`;
  }),
  // Catches everything, even the missing answer.
  careless: tool({}, async (_, call) => {
    try {
      await call.sample({ messages: [], maxTokens: 1 });
    } catch {
      return "never mind";
    }
    return "asked";
  }),
};

function serverWith(options: Partial<McpServerOptions> = {}) {
  return mcpServer(methods, {
    name: "test",
    version: "1",
    log: silentLog,
    resources: [
      resource({
        uri: "test://secret",
        read: async (_, call) => {
          const { content } = await call.elicit("Word?", z.object({ word: z.string() }));
          return content?.word === "sesame" ? "gold" : "nothing";
        },
      }),
    ],
    ...options,
  });
}

const accept = (content: object) => ({ action: "accept", content });
const base = { name: "trip", arguments: { city: "Rome" } };

async function firstRound(server: ReturnType<typeof serverWith>): Promise<string> {
  const { result } = await askModern(server, "tools/call", base, forms);
  expect(result).toMatchObject({
    resultType: "input_required",
    inputRequests: { "input-1": { method: "elicitation/create" } },
  });
  return result?.requestState as string;
}

test("a handler runs again with each answer, and its state carries the earlier ones", async () => {
  const server = serverWith();
  runs.length = 0;
  const state = await firstRound(server);
  const second = await askModern(
    server,
    "tools/call",
    { ...base, requestState: state, inputResponses: { "input-1": accept({ name: "Ada" }) } },
    forms,
  );
  expect(Object.keys(second.result?.inputRequests as object)).toEqual(["input-2"]);
  const third = await askModern(
    server,
    "tools/call",
    {
      arguments: { city: "Rome" },
      name: "trip",
      requestState: second.result?.requestState,
      inputResponses: { "input-2": accept({ day: 3 }) },
    },
    forms,
  );
  expect(third.result).toMatchObject({
    resultType: "complete",
    content: [{ text: "Ada goes to Rome on day 3" }],
  });
  expect(runs).toEqual(["begun", "begun", "begun", "booked"]);
});

test.each([
  ["zod", z.object({ sure: z.boolean(), who: z.object({ age: z.number() }) })],
  [
    "JSON Schema",
    {
      type: "object",
      properties: {
        sure: { type: "boolean" },
        who: { type: "object", properties: { age: { type: "number" } } },
      },
    },
  ],
])("an answer that does not fit a form of %s names the members that do not", async (_, form) => {
  const remove = tool({}, async (_, call) => {
    await call.elicit("Really?", form);
    return "removed";
  });
  const server = mcpServer({ remove }, { name: "test", version: "1", log: silentLog });
  const answer = accept({ sure: "yes", who: { age: "old" } });
  const params = { name: "remove", inputResponses: { "input-1": answer } };
  const { result } = await askModern(server, "tools/call", params, forms);
  const sentence =
    /^the content does not match the schema of the form: sure: .*boolean.*; who\.age: .*number/;
  expect(result).toMatchObject({
    isError: true,
    content: [{ text: expect.stringMatching(sentence) }],
    _meta: {
      [MetaKey.Error]: {
        code: -32602,
        data: { issues: [{ path: ["sure"] }, { path: ["who", "age"] }] },
      },
    },
  });
});

test("a state is valid for one request, for a limited time, and only unchanged", async () => {
  const clock = new FakeClock();
  const server = serverWith({ clock, stateLifetimeMs: 60_000 });
  const state = await firstRound(server);
  const answers = { inputResponses: { "input-1": accept({ name: "Ada" }) } };
  const codeOf = async (params: object): Promise<number | undefined> =>
    (await askModern(server, "tools/call", { ...base, ...answers, ...params }, forms)).error?.code;
  expect(await codeOf({ requestState: state })).toBeUndefined();
  expect(await codeOf({ requestState: `${state}x` })).toBe(-32602);
  expect(await codeOf({ requestState: state.replace(/^./, "A") })).toBe(-32602);
  expect(await codeOf({ requestState: 5 })).toBe(-32602);
  expect(await codeOf({ requestState: state, arguments: { city: "Oslo" } })).toBe(-32602);
  // From another process, without a shared secret.
  const other = await firstRound(serverWith());
  expect(await codeOf({ requestState: other })).toBe(-32602);
  clock.advance(60_001);
  expect(await codeOf({ requestState: state })).toBe(-32602);
});

test("processes that share a secret take turns", async () => {
  const state = await firstRound(serverWith({ stateSecret: "shared" }));
  const { result } = await askModern(
    serverWith({ stateSecret: "shared" }),
    "tools/call",
    { ...base, requestState: state, inputResponses: { "input-1": accept({ name: "Ada" }) } },
    forms,
  );
  expect(result?.resultType).toBe("input_required");
});

test("invalid answers are refused, and a wrong form is the tool's error", async () => {
  const server = serverWith();
  for (const answer of [null, 5, {}, { action: "maybe" }]) {
    const { error } = await askModern(
      server,
      "tools/call",
      { ...base, inputResponses: { "input-1": answer } },
      forms,
    );
    expect(error?.code).toBe(-32602);
  }
  const wrong = { ...base, inputResponses: { "input-1": accept({ name: 5 }) } };
  const { result } = await askModern(server, "tools/call", wrong, forms);
  expect(result).toMatchObject({ isError: true });
});

test("a client is asked only for what it supports, whatever the handler does with that error", async () => {
  const server = serverWith();
  const { error } = await askModern(server, "tools/call", base);
  expect(error).toMatchObject({
    code: -32021,
    data: { requiredCapabilities: { elicitation: {} } },
  });
  const asked = await askModern(server, "tools/call", { name: "careless" }, { sampling: {} });
  expect(asked.result?.resultType).toBe("input_required");
});

test("resources ask too", async () => {
  const server = serverWith();
  const uri = "test://secret";
  const { result } = await askModern(server, "resources/read", { uri }, forms);
  expect(result?.resultType).toBe("input_required");
  const read = await askModern(
    server,
    "resources/read",
    {
      uri,
      requestState: result?.requestState,
      inputResponses: { "input-1": accept({ word: "sesame" }) },
    },
    forms,
  );
  expect(read.result).toMatchObject({ contents: [{ uri, text: "gold" }], cacheScope: "private" });
});

test("a page to visit is sent to clients that can show one, in the form of their era", async () => {
  const login = tool({}, async (_, call) => {
    const { action } = await call.elicitUrl("Log in", "https://login.example");
    return action;
  });
  const server = mcpServer({ login }, { name: "test", version: "1", log: silentLog });
  const ask = (capabilities: object) =>
    askModern(server, "tools/call", { name: "login" }, capabilities);
  expect((await ask({ elicitation: {} })).error?.code).toBe(-32021);
  expect((await ask({ elicitation: { url: {} } })).result?.inputRequests).toEqual({
    "input-1": {
      method: "elicitation/create",
      params: { mode: "url", message: "Log in", url: "https://login.example" },
    },
  });
});

test("questions that are begun together and awaited one by one do no harm", async () => {
  const both = tool({}, async (_, call) => {
    const name = call.elicit("Name?", z.object({ name: z.string() }), { key: "name" });
    const roots = call.roots({ key: "roots" });
    const model = call.sample({ messages: [], maxTokens: 1 }, { key: "model" });
    return `${(await name).action} ${(await roots).length} ${(await model).model}`;
  });
  const server = mcpServer({ both }, { name: "test", version: "1", log: silentLog });
  const rejected: unknown[] = [];
  const hear = (reason: unknown): void => void rejected.push(reason);
  process.on("unhandledRejection", hear);
  const all = { elicitation: {}, roots: {}, sampling: {} };
  const { result } = await askModern(server, "tools/call", { name: "both" }, all);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", hear);
  expect(Object.keys(result?.inputRequests as object)).toEqual(["name", "roots", "model"]);
  expect(rejected).toEqual([]);
});

test("an empty secret is refused at once", () => {
  expect(() => serverWith({ stateSecret: "" })).toThrow('"stateSecret" must not be empty');
});
