import { type Middleware, RpcError, silentLog } from "callwire";
import { memoryChannels } from "callwire/connection";
import {
  McpError,
  type McpServer,
  mcpFetchHandler,
  mcpGateway,
  mcpServer,
  prompt,
  resource,
  serveMcpChannel,
  tool,
} from "callwire/mcp";
import {
  type McpClient,
  type McpClientOptions,
  mcpChannelLink,
  mcpClient,
  mcpMemoryLink,
} from "callwire/mcp/client";
import { auditLog, authenticate, authorize, bearer, rateLimit } from "callwire/security";
import { FakeClock } from "callwire/testing";
import { describe, expect, test, vi } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { type Answered, envelope, request } from "../server/asking.ts";

const info = { name: "test", version: "1.0.0", log: silentLog };

function clientOf(server: McpServer, options: Partial<McpClientOptions> = {}): McpClient {
  return mcpClient(mcpMemoryLink(server), { ...info, ...options });
}

/** A promise, and what resolves it. */
function signal<T = void>(): { readonly given: Promise<T>; give(value: T): void } {
  let give: (value: T) => void = () => {};
  const given = new Promise<T>((resolve) => {
    give = resolve;
  });
  return { given, give };
}

/** A server with something of everything. */
function everything(): McpServer {
  return mcpServer(
    {
      add: (a: number, b: number) => a + b,
      link: tool({}, () => [
        { type: "resource_link", uri: "note://7", name: "seven" },
        { type: "resource", resource: { uri: "note://8", text: "eight" } },
      ]),
      fail: tool({}, () => {
        throw new RpcError(1001, "Out of paper", { tray: 2 });
      }),
      refuse: tool({}, () => {
        throw new McpError(-32042, "Pay first", { elicitations: [] });
      }),
      ask: tool({}, async (_, call) => {
        call.progress({ progress: 1, total: 2 });
        const form = { type: "object", properties: { name: { type: "string" } } } as const;
        const first = await call.elicit("Name?", form, { key: "name" });
        const second = await call.sample({ messages: [], maxTokens: 10 }, { key: "model" });
        const roots = await call.roots({ key: "roots" });
        return JSON.stringify([first.content, second.model, roots]);
      }),
      long: tool({ task: "optional" }, async () => "done"),
    },
    {
      ...info,
      prompts: {
        greet: prompt(
          {
            arguments: [{ name: "who", required: true }],
            complete: { who: (typed) => [`${typed}da`] },
          },
          ({ who }) => `Greet ${who}`,
        ),
      },
      resources: [
        resource({ uri: "note://1", name: "one", mimeType: "text/plain", read: () => "first" }),
        resource({ uriTemplate: "note://{id}", name: "note", read: ({ id }) => `note ${id}` }),
      ],
    },
  );
}

const answers: Partial<McpClientOptions> = {
  elicitForm: () => ({ action: "accept", content: { name: "Ada" } }),
  sample: () => ({ role: "assistant", content: { type: "text", text: "" }, model: "m1" }),
  roots: [{ uri: "file:///work" }],
};

const eras = ["legacy", "modern"] as const;

describe.each(eras)("a client of the %s era", (near) => {
  describe.each(eras)("through a gateway to a server of the %s era", (far) => {
    const through = (): McpServer =>
      mcpGateway(
        {
          notes: { link: mcpMemoryLink(everything()), era: far },
          own: { double: (n: number) => 2 * n },
        },
        info,
      );

    test("sees all lists, with the name of the server before each name", async () => {
      await using client = clientOf(through(), { era: near });
      const names = (await client.tools().all()).map(({ name }) => name);
      expect(names).toEqual(
        expect.arrayContaining(["own_double", "notes_add", "notes_link", "notes_fail"]),
      );
      expect((await client.prompts().all())[0]).toMatchObject({ name: "notes_greet" });
      expect((await client.resources().all())[0]).toMatchObject({ uri: "notes+note://1" });
      expect((await client.resourceTemplates().all())[0]).toMatchObject({
        uriTemplate: "notes+note://{id}",
      });
    });

    test("calls tools, gets prompts, reads resources and completes", async () => {
      await using client = clientOf(through(), { era: near });
      const texts = async (name: string, args: object): Promise<unknown> =>
        (await client.callTool(name, { ...args })).content[0];
      expect(await texts("own_double", { n: 4 })).toMatchObject({ text: "8" });
      expect(await texts("notes_add", { a: 2, b: 3 })).toMatchObject({ text: "5" });
      expect((await client.getPrompt("notes_greet", { who: "Ada" })).messages).toMatchObject([
        { content: { text: "Greet Ada" } },
      ]);
      const ref = { type: "ref/prompt", name: "notes_greet" } as const;
      expect((await client.complete(ref, { name: "who", value: "A" })).values).toEqual(["Ada"]);
      expect((await client.readResource("notes+note://1")).contents).toMatchObject([
        { uri: "notes+note://1", text: "first" },
      ]);
      expect((await client.readResource("notes+note://5")).contents).toMatchObject([
        { uri: "notes+note://5", text: "note 5" },
      ]);
    });

    test("can read what the result of a tool names", async () => {
      await using client = clientOf(through(), { era: near });
      const { content } = await client.callTool("notes_link");
      expect(content).toMatchObject([
        { uri: "notes+note://7" },
        { resource: { uri: "notes+note://8" } },
      ]);
      expect((await client.readResource("notes+note://7")).contents).toHaveLength(1);
    });

    test("gets errors as the server sent them", async () => {
      await using client = clientOf(through(), { era: near });
      expect(await client.callTool("notes_fail")).toMatchObject({
        isError: true,
        _meta: { "callwire/error": { code: 1001, data: { tray: 2 } } },
      });
      await expect(client.callTool("notes_refuse")).rejects.toMatchObject({
        code: -32042,
        message: "Pay first",
      });
      await expect(client.callTool("notes_nothing")).rejects.toMatchObject({ code: -32602 });
    });

    test("answers the questions of the server, and gets its progress", async () => {
      await using client = clientOf(through(), { era: near, ...answers });
      const seen: unknown[] = [];
      const onProgress = (value: unknown) => seen.push(value);
      const { content } = await client.callTool("notes_ask", {}, { onProgress });
      expect(content).toEqual([
        { type: "text", text: JSON.stringify([{ name: "Ada" }, "m1", [{ uri: "file:///work" }]]) },
      ]);
      expect(seen[0]).toMatchObject({ progress: 1, total: 2 });
    });

    test("gets an error that names the capability for a question", async () => {
      await using client = clientOf(through(), { era: near });
      const outcome = await client.callTool("notes_ask").catch((error: unknown) => error);
      // A legacy server gets the error as the answer to its request, and decides what it means.
      if (far === "legacy") expect(outcome).toMatchObject({ isError: true });
      else expect(JSON.stringify(outcome)).toContain("-32021");
    });

    test("runs tools as tasks", async () => {
      await using client = clientOf(through(), { era: near });
      await client.tools().all();
      const result = await client.callTool("notes_long", {}, { task: {} });
      expect(result.content).toMatchObject([{ text: "done" }]);
    });

    test("cancels a call at the server", async () => {
      const begun = signal();
      const cancelled = signal();
      const server = mcpServer(
        {
          wait: tool({}, async (_, call) => {
            call.signal.addEventListener("abort", () => cancelled.give());
            begun.give();
            await cancelled.given;
            return "";
          }),
        },
        info,
      );
      const gateway = mcpGateway({ slow: { link: mcpMemoryLink(server), era: far } }, info);
      await using client = clientOf(gateway, { era: near });
      const controller = new AbortController();
      const call = client.callTool("slow_wait", {}, { signal: controller.signal });
      await begun.given;
      controller.abort();
      await expect(call).rejects.toMatchObject({ code: "ABORTED" });
      await cancelled.given;
    });

    test("is notified that a list and a resource changed", async () => {
      const server = everything();
      const gateway = mcpGateway({ notes: { link: mcpMemoryLink(server), era: far } }, info);
      await using client = clientOf(gateway, { era: near });
      await client.tools().all();
      const listed = signal();
      const updated = signal<string>();
      await using _ = await client.subscribe(
        { tools: true, uris: ["notes+note://1"] },
        (change) => {
          if (change.kind === "tools") listed.give();
          if (change.kind === "resource") updated.give(change.uri);
        },
      );
      server.catalog.addMethods({ late: () => 1 });
      await listed.given;
      expect((await client.tools().all()).map(({ name }) => name)).toContain("notes_late");
      server.resourceUpdated("note://1");
      expect(await updated.given).toBe("notes+note://1");
    });
  });
});

test("a resource is watched once, however often clients subscribe to it and leave", async () => {
  const server = everything();
  const begun = vi.spyOn(server.changes, "addListener");
  const gateway = mcpGateway({ notes: mcpMemoryLink(server) }, info);
  await using client = clientOf(gateway);
  await client.tools().all();
  const before = begun.mock.calls.length;
  for (let i = 0; i < 3; i++) {
    await using _ = await client.subscribe({ uris: ["notes+note://1"] }, () => {});
  }
  expect(begun.mock.calls.length - before).toBe(1);
});

test("resources that nobody wants any more make room for others", async () => {
  const note = resource({ uriTemplate: "note://{id}", read: () => "" });
  const server = mcpServer({}, { ...info, resources: [note] });
  const ended = vi.spyOn(server.changes, "removeListener");
  const gateway = mcpGateway({ notes: mcpMemoryLink(server) }, info);
  await using client = clientOf(gateway);
  const uris = (from: number, count: number) =>
    Array.from({ length: count }, (_, i) => `notes+note://${from + i}`);
  await (await client.subscribe({ uris: uris(0, 199) }, () => {})).close();
  const updated = signal<string>();
  await using _ = await client.subscribe({ uris: uris(2_000, 2) }, (change) => {
    if (change.kind === "resource") updated.give(change.uri);
  });
  server.resourceUpdated("note://2001");
  expect(await updated.given).toBe("notes+note://2001");
  expect(ended).toHaveBeenCalledTimes(199);
});

test("middleware sees each tool under the name of its server, and can hide tools", async () => {
  const seen: string[] = [];
  const audit: Middleware = Object.assign(
    ((next) => (request, context) => {
      seen.push(request.method);
      return next(request, context);
    }) satisfies Middleware,
    { visible: (method: string) => method !== "notes/fail" },
  );
  const gateway = mcpGateway({ notes: everything() }, { ...info, use: [audit] });
  await using client = clientOf(gateway);
  expect((await client.tools().all()).map(({ name }) => name)).not.toContain("notes_fail");
  await client.callTool("notes_add", { a: 1, b: 2 });
  await client.readResource("notes+note://1");
  expect(seen).toEqual(["notes/add", "resources/notes+note://1"]);
});

test("access rules, rate limits and the audit log apply to each tool", async () => {
  const audited: string[] = [];
  const use = [
    auditLog((line) => {
      const { event, method, decision, reason } = JSON.parse(line);
      if (event === "call") audited.push(`${decision} ${method} ${reason ?? ""}`.trim());
    }),
    authorize({ allow: [{ methods: "**" }], deny: [{ methods: "notes/fail" }] }),
    rateLimit({
      capacity: 10,
      perSecond: 1,
      costs: { "notes/add": 6 },
      addressOf: () => "203.0.113.7",
      clock: new FakeClock(),
    }),
  ];
  const gateway = mcpGateway({ notes: everything(), more: everything() }, { ...info, use });
  await using client = clientOf(gateway);
  const sum = { a: 1, b: 2 };
  expect((await client.tools().all()).map(({ name }) => name)).not.toContain("notes_fail");
  await expect(client.callTool("notes_fail")).rejects.toMatchObject({ code: -32004 });
  await client.callTool("notes_add", sum);
  await expect(client.callTool("notes_add", sum)).rejects.toMatchObject({ code: -32010 });
  await client.callTool("more_add", sum);
  expect(audited).toEqual([
    "deny notes/fail the policy denies it",
    "allow notes/add",
    "deny notes/add the rate limit by address",
    "allow more/add",
  ]);
});

test("a client of an earlier era gets nothing of the envelope of a modern server", async () => {
  const gateway = mcpGateway({ notes: everything() }, info);
  await using client = clientOf(gateway, { era: "legacy" });
  const result = await client.callTool("notes_link");
  expect(Object.keys(result)).toEqual(["content"]);
});

test("a server is asked for progress only if the client asks for it", async () => {
  const tokens: unknown[] = [];
  const watching: Middleware = (next) => (request, context) => {
    tokens.push((context as { meta?: { progressToken?: unknown } }).meta?.progressToken);
    return next(request, context);
  };
  const server = mcpServer({ work: () => 1 }, { ...info, use: [watching] });
  const gateway = mcpGateway({ files: mcpMemoryLink(server) }, info);
  await using client = clientOf(gateway, { timeoutMs: Number.POSITIVE_INFINITY });
  await client.callTool("files_work");
  await client.callTool("files_work", {}, { onProgress: () => {} });
  expect(tokens).toEqual([undefined, expect.anything()]);
});

test("a server without a prefix keeps its names", async () => {
  const gateway = mcpGateway({ notes: { link: mcpMemoryLink(everything()), prefix: "" } }, info);
  await using client = clientOf(gateway);
  expect((await client.tools().all()).map(({ name }) => name)).toContain("add");
  expect((await client.readResource("note://1")).contents).toMatchObject([{ uri: "note://1" }]);
});

test("two servers with the same prefix are refused", () => {
  const parts = { my_notes: everything(), "my-notes": everything() };
  expect(() => mcpGateway(parts, info)).toThrow(/prefix/);
});

test("if one server is down, only its tools are missing, and they come back with it", async () => {
  const clock = new FakeClock();
  const logged: (readonly [object, string])[] = [];
  const log = {
    ...silentLog,
    warn: (fields: object, message: string) => void logged.push([fields, message]),
  };
  let isUp = false;
  let attempts = 0;
  const server = everything();
  const flaky = mcpChannelLink(
    () => {
      if (!isUp || ++attempts < 4) throw new Error("down");
      const [near, far] = memoryChannels();
      serveMcpChannel(server, far);
      return near;
    },
    { reconnect: { clock } },
  );
  const own = { double: (n: number) => 2 * n };
  const gateway = mcpGateway({ flaky, own }, { ...info, clock, log });
  await using client = clientOf(gateway, { era: "legacy" });
  const back = signal();
  await using _ = await client.subscribe({ tools: true }, () => back.give());
  expect((await client.tools().all()).map(({ name }) => name)).toEqual(["own_double"]);
  isUp = true;
  await whileTimePasses(clock, 500, back.given);
  expect((await client.tools().all()).map(({ name }) => name)).toContain("flaky_add");
  // One line each, without stacks, however often it was tried.
  const what = "an MCP server behind the gateway is";
  expect(logged).toEqual([
    [{ server: "flaky", reason: expect.stringContaining("down") }, `${what} down; retrying`],
    [{ server: "flaky" }, `${what} back`],
  ]);
});

test("servers start with the first client, not with the gateway", async () => {
  let starts = 0;
  const link = mcpChannelLink(() => {
    starts++;
    const [near, far] = memoryChannels();
    serveMcpChannel(everything(), far);
    return near;
  });
  const gateway = mcpGateway({ notes: link }, info);
  expect(starts).toBe(0);
  await using client = clientOf(gateway);
  await client.tools().all();
  expect(starts).toBe(1);
  await gateway.close();
});

test("a session may have a connection of its own, which ends with it", async () => {
  const closed: Promise<unknown>[] = [];
  const link = mcpChannelLink(
    () => {
      const [near, far] = memoryChannels();
      closed.push(serveMcpChannel(everything(), far).closed);
      return near;
    },
    { reconnect: false },
  );
  const gateway = mcpGateway({ notes: { link, per: "session", maxConnections: 2 } }, info);
  const one = clientOf(gateway, { era: "legacy", ...answers });
  const two = clientOf(gateway, { era: "legacy", ...answers });
  const three = clientOf(gateway, { era: "legacy" });
  await Promise.all([one.callTool("notes_ask"), two.callTool("notes_ask")]);
  // One more request lists what the server has.
  expect(closed).toHaveLength(3);
  await expect(three.callTool("notes_add", { a: 1, b: 2 })).rejects.toMatchObject({ code: -32005 });
  await one.close();
  await Promise.race(closed.slice(1));
  await three.callTool("notes_add", { a: 1, b: 2 });
  await Promise.all([two.close(), three.close(), gateway.close()]);
});

test("a client that leaves questions unanswered does not take the place of others", async () => {
  const gateway = mcpGateway(
    { notes: { link: mcpMemoryLink(everything()), era: "modern" } },
    { ...info, use: [authenticate(bearer((id) => ({ id })))] },
  );
  const handler = mcpFetchHandler(gateway);
  const body = JSON.stringify(
    request("tools/call", { name: "notes_ask", _meta: envelope({ elicitation: { form: {} } }) }),
  );
  const asks = async (user: string): Promise<Answered> => {
    const headers = {
      authorization: `Bearer ${user}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "tools/call",
      "mcp-name": "notes_ask",
    };
    const reply = await handler(
      new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }),
    );
    const text = await reply.text();
    return JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc"')).trim());
  };
  let held = 0;
  while ((await asks("ann")).error === undefined) held++;
  expect(held).toBe(667);
  expect(await asks("bob")).toMatchObject({ result: { resultType: "input_required" } });
  await gateway.close({ drainMs: 0 });
});
