import { Host, type Middleware, Origin, silentLog, success } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import { McpError, McpErrorCode, mcpServer, prompt, resource, tool } from "callwire/mcp";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { requestText } from "../../server/asking.ts";
import { ask, askModern } from "./asking.ts";

const info = { name: "test", version: "1", log: silentLog };

const files = resource({
  uriTemplate: "file:///{+path}{?version}",
  name: "files",
  title: "Files",
  complete: {
    path: (typed, { version }) => [`${typed}-${version ?? "latest"}`],
    version: () => Array.from({ length: 150 }, (_, i) => String(i)),
  },
  list: () => [{ uri: "file:///a/b.txt", name: "b" }],
  read: ({ path, version = "latest" }) => (path === "none" ? undefined : `${path} at ${version}`),
});

test("resources are listed and read, by their URI or by a template", async () => {
  const bytes = resource({
    uri: "test://bytes",
    mimeType: "image/png",
    read: () => Uint8Array.of(1, 2),
  });
  const server = mcpServer({}, { ...info, resources: [bytes, files] });
  expect((await ask(server, "resources/list")).result).toEqual({
    resources: [
      { uri: "test://bytes", mimeType: "image/png", name: "test://bytes" },
      { uri: "file:///a/b.txt", name: "b" },
    ],
  });
  expect((await ask(server, "resources/templates/list")).result).toEqual({
    resourceTemplates: [
      { uriTemplate: "file:///{+path}{?version}", name: "files", title: "Files" },
    ],
  });
  const read = async (uri: string) => (await ask(server, "resources/read", { uri })).result;
  expect(await read("test://bytes")).toEqual({
    contents: [{ uri: "test://bytes", mimeType: "image/png", blob: "AQI=" }],
  });
  expect(await read("file:///a/b.txt?version=2")).toMatchObject({
    contents: [{ text: "a/b.txt at 2" }],
  });
  for (const uri of ["file:///none", "test://else", "file:///", `file:///${"x".repeat(9000)}`]) {
    const legacy = await ask(server, "resources/read", { uri });
    expect(legacy.error).toMatchObject({ code: -32002, data: { uri } });
    const modern = await askModern(server, "resources/read", { uri });
    expect(modern.error).toMatchObject({ code: -32602, data: { uri } });
  }
});

test("completion suggests at most a hundred values, and gets the other arguments", async () => {
  const server = mcpServer({}, { ...info, resources: [files] });
  const ref = { type: "ref/resource", uri: "file:///{+path}{?version}" };
  const complete = (name: string, value: string, more?: object) =>
    ask(server, "completion/complete", { ref, argument: { name, value }, ...more });
  const { result } = await complete("version", "");
  const { completion } = result as { completion: { values: string[] } };
  expect(completion).toMatchObject({ total: 150, hasMore: true });
  expect(completion.values).toHaveLength(100);
  const chosen = await complete("path", "a", { context: { arguments: { version: "7" } } });
  expect(chosen.result?.completion).toMatchObject({ values: ["a-7"] });
  expect((await complete("toString", "")).result?.completion).toMatchObject({ values: [] });
  const unknown = { ref: { type: "ref/prompt", name: "x" }, argument: { name: "a", value: "" } };
  expect((await ask(server, "completion/complete", unknown)).error?.code).toBe(-32602);
});

test("prompts are made of arguments that were checked", async () => {
  const server = mcpServer(
    {},
    {
      ...info,
      prompts: {
        review: prompt(
          {
            title: "Review",
            description: "Reviews code",
            arguments: z.object({
              code: z.string().describe("What to review"),
              tone: z.enum(["kind", "strict"]).optional(),
            }),
          },
          ({ code, tone = "kind" }) => `Be ${tone} about ${code}`,
        ),
      },
    },
  );
  expect((await ask(server, "prompts/list")).result).toEqual({
    prompts: [
      {
        name: "review",
        title: "Review",
        description: "Reviews code",
        arguments: [
          { name: "code", description: "What to review", required: true },
          { name: "tone", required: false },
        ],
      },
    ],
  });
  const get = (args: object) => ask(server, "prompts/get", { name: "review", arguments: args });
  expect((await get({ code: "x = 1" })).result).toEqual({
    description: "Reviews code",
    messages: [{ role: "user", content: { type: "text", text: "Be kind about x = 1" } }],
  });
  expect((await get({ tone: "loud" })).error?.code).toBe(-32602);
  expect((await ask(server, "prompts/get", { name: "none" })).error?.code).toBe(-32602);
});

test("middleware guards prompts and resources under their own names", async () => {
  const seen: string[] = [];
  const watch: Middleware = Object.assign(
    ((next) => (request, context) => {
      seen.push(request.method);
      return next(request, context);
    }) as Middleware,
    { visible: (name: string) => !name.endsWith("secret") },
  );
  const secret = resource({ uri: "test://secret", name: "secret", read: () => "gold" });
  const open = resource({ uri: "test://open", name: "open", read: () => "air" });
  const server = mcpServer(
    {},
    {
      ...info,
      use: [watch],
      resources: [secret, open],
      prompts: { hi: prompt({}, () => "hi"), secret: prompt({}, () => "psst") },
    },
  );
  const { result } = await ask(server, "resources/list");
  expect(result?.resources).toMatchObject([{ name: "open" }]);
  expect((await ask(server, "prompts/list")).result?.prompts).toMatchObject([{ name: "hi" }]);
  expect((await ask(server, "resources/read", { uri: "test://secret" })).error).toBeDefined();
  await ask(server, "resources/read", { uri: "test://open" });
  await ask(server, "prompts/get", { name: "hi" });
  expect(seen).toEqual(["resources/open", "prompts/hi"]);
});

test("clients of both eras on one wire get what each subscribed to", async () => {
  const server = mcpServer({ a: () => 1 }, { ...info, resources: [files] });
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  new Connection(ours, { service: server, transport });
  const heard: unknown[] = [];
  theirs.listen({
    message: (text) => heard.push(JSON.parse(text)),
    fault() {},
    drain() {},
    end() {},
  });
  const send = (message: object): void =>
    theirs.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const arrived = async (count: number): Promise<unknown[]> => {
    while (heard.length < count) await new Promise((resolve) => setImmediate(resolve));
    return heard.splice(0);
  };
  send({ id: 1, method: "initialize", params: { protocolVersion: "2025-06-18" } });
  send({ id: 2, method: "resources/subscribe", params: { uri: "file:///a" } });
  send({
    id: "listen",
    method: "subscriptions/listen",
    params: {
      notifications: { toolsListChanged: true, promptsListChanged: true },
      _meta: {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
      },
    },
  });
  const _meta = { "io.modelcontextprotocol/subscriptionId": "listen" };
  expect(await arrived(3)).toMatchObject([
    { id: 1 },
    { id: 2, result: {} },
    { params: { notifications: { toolsListChanged: true }, _meta } },
  ]);
  server.catalog.addMethods({ b: () => 2 });
  server.resourceUpdated("file:///a");
  server.resourceUpdated("file:///b");
  const list = { method: "notifications/tools/list_changed" };
  expect(await arrived(3)).toMatchObject([
    list,
    { ...list, params: { _meta } },
    { method: "notifications/resources/updated", params: { uri: "file:///a" } },
  ]);
  send({ id: 3, method: "resources/unsubscribe", params: { uri: "file:///a" } });
  await arrived(1);
  server.resourceUpdated("file:///a");
  expect(server.catalog.removeTool("b")).toBe(true);
  expect(server.catalog.removeTool("b")).toBe(false);
  expect(await arrived(2)).toMatchObject([list, { ...list, params: { _meta } }]);
  await server.close();
});

test("progress only grows, and goes only to clients that asked for it", async () => {
  const reports = tool({}, (_, call) => {
    for (const value of [0, 2, 1, { progress: 3, total: 4 }, "nearly", { progress: 3 }]) {
      call.progress(value);
    }
    return "done";
  });
  const server = mcpServer({ reports }, info);
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  new Connection(ours, { service: server, transport });
  const heard: { params?: unknown; id?: unknown }[] = [];
  theirs.listen({
    message: (text) => heard.push(JSON.parse(text)),
    fault() {},
    drain() {},
    end() {},
  });
  const call = (id: number, _meta?: object): void =>
    theirs.send(
      JSON.stringify({
        jsonrpc: "2.0",
        id,
        method: "tools/call",
        params: { name: "reports", _meta },
      }),
    );
  call(1);
  call(2, { progressToken: 0 });
  while (!heard.some(({ id }) => id === 2)) await new Promise((resolve) => setImmediate(resolve));
  expect(heard.flatMap(({ params }) => (params === undefined ? [] : [params]))).toEqual([
    { progressToken: 0, progress: 0 },
    { progressToken: 0, progress: 2 },
    { progressToken: 0, progress: 3, total: 4 },
    { progressToken: 0, progress: 4, message: "nearly" },
  ]);
  await server.close();
});

test("a report restarts the caller's timeout", async () => {
  const clock = new FakeClock();
  let report = (): void => {};
  let done = (_: string): void => {};
  const works = tool({}, (_, call) => {
    report = () => call.progress(1);
    return new Promise<string>((resolve) => {
      done = resolve;
    });
  });
  const server = mcpServer({ works }, { ...info, clock });
  const peer = { ...new Origin().peer, canNotify: true, notify: () => true };
  const call = (_meta: object): PromiseLike<string | undefined> =>
    Promise.resolve(
      server.receive(
        requestText("tools/call", { name: "works", _meta }, { timeoutMs: 1_000 }),
        new Origin(undefined, peer),
      ),
    );
  for (const [_meta, answer] of [
    [{ progressToken: 0 }, "done"],
    [{}, "-32003"],
  ] as const) {
    const answered = call(_meta);
    clock.advance(900);
    report();
    clock.advance(900);
    done("done");
    expect(await answered).toContain(answer);
  }
  await server.close();
});

test.each([
  ["test://{a}/x", "test://1/x", { a: "1" }],
  ["test://{a}/x", "test://1/2/x", undefined],
  ["test://{+a}", "test://1/2/x", { a: "1/2/x" }],
  ["test://h{/a,b}", "test://h/1/2", { a: "1", b: "2" }],
  ["test://h{.ext}", "test://h.txt", { ext: "txt" }],
  ["test://{a}{?q,r}", "test://1?r=2&q=%20", { a: "1", q: " ", r: "2" }],
  ["test://{a}{?q}", "test://1", { a: "1" }],
  ["test://{a}", "test://%C3%BC", { a: "ü" }],
  ["a.b://{x}", "aXb://1", undefined],
  ["test://{a}-{b}", "test://1-2-3", { a: "1-2", b: "3" }],
  ["test://{+a}/x{?q}", "test://1/x/x?q=2", { a: "1/x", q: "2" }],
])("%s and %s", async (uriTemplate, uri, expected) => {
  let found: unknown;
  const one = resource({
    uriTemplate,
    read: (variables) => {
      found = variables;
      return "";
    },
  });
  await ask(mcpServer({}, { ...info, resources: [one] }), "resources/read", { uri });
  expect(found).toEqual(expected);
});

test("what cannot be is refused when the server is made", () => {
  const read = () => "";
  expect(() => resource({ uriTemplate: "x://{a}/{a}", read })).toThrow("twice");
  expect(() => resource({ uriTemplate: "x://{a b}", read })).toThrow("the invalid variable");
  const unread: string = "x://{a}";
  expect(() => resource({ uriTemplate: unread, complete: { b: () => [] }, read })).toThrow("b");
  const twice = [resource({ uri: "x://a", read }), resource({ uri: "x://a", read })];
  expect(() => mcpServer({}, { ...info, resources: twice })).toThrow("two resources");
  const input = { type: "object", properties: { a: { type: "number", "x-mcp-header": "A" } } };
  expect(() => mcpServer({ t: tool({ input }, () => "") }, info)).toThrow("x-mcp-header");
});

test("a list of variables is parted at its commas, and one of very many is soon refused", async () => {
  const place = resource({
    uriTemplate: "map://{lat,lon,zoom}",
    read: (variables) => JSON.stringify(variables),
  });
  const server = mcpServer({}, { ...info, resources: [place] });
  const { result } = await ask(server, "resources/read", { uri: "map://1.5,-2,3" });
  expect(result?.contents).toMatchObject([{ text: '{"lat":"1.5","lon":"-2","zoom":"3"}' }]);
  const { error } = await ask(server, "resources/read", { uri: `map://${",".repeat(8_000)}?` });
  expect(error?.code).toBe(-32002);
});

test("a URI that almost matches a template in very many ways is refused quickly", async () => {
  const day = resource({ uriTemplate: "day://{year}-{month}-{day}", read: () => "" });
  const server = mcpServer({}, { ...info, resources: [day] });
  const { error } = await ask(server, "resources/read", { uri: `day://${"-".repeat(8_000)}?` });
  expect(error?.code).toBe(-32002);
});

test("the end of a visit is reported only to the client that was sent there", async () => {
  const refuses = tool({}, () => {
    const elicitations = [
      { mode: "url", message: "Pay", url: "https://a.example", elicitationId: "1" },
    ];
    throw new McpError(McpErrorCode.UrlElicitationRequired, "Pay first", { elicitations });
  });
  const sends = tool({}, async (_, call) => {
    await call.elicitUrl("Sign in", "https://b.example", { elicitationId: "2" });
  });
  const server = mcpServer({ refuses, sends }, info);
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  const connect = async () => {
    const [ours, theirs] = memoryChannels();
    new Connection(ours, { service: server, transport });
    const heard: unknown[] = [];
    const service = new Host((call) => {
      if (call.id !== undefined) return success({ action: "accept" });
      heard.push((call.params as { elicitationId: string }).elicitationId);
      return undefined;
    });
    const client = new Connection(theirs, { transport, service });
    const capabilities = { elicitation: { url: {} } };
    await client.call("initialize", { protocolVersion: "2025-11-25", capabilities });
    return { client, heard };
  };
  const [one, other] = [await connect(), await connect()];
  await expect(one.client.call("tools/call", { name: "refuses" })).rejects.toThrow("Pay first");
  await other.client.call("tools/call", { name: "sends" });
  server.elicitationComplete("1");
  server.elicitationComplete("2");
  server.elicitationComplete("3");
  await Promise.all([one.client.call("ping"), other.client.call("ping")]);
  expect(one.heard).toEqual(["1"]);
  expect(other.heard).toEqual(["2"]);
  await server.close();
});

test("what the server stores for one client is bounded", async () => {
  const server = mcpServer({}, { ...info, resources: [files] });
  const [ours, theirs] = memoryChannels();
  const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
  new Connection(ours, { service: server, transport });
  const client = new Connection(theirs, { transport });
  const initialize = (title: string): Promise<unknown> =>
    client.call("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1", title },
    });
  await expect(initialize("x".repeat(40_000))).rejects.toMatchObject({ code: -32602 });
  await initialize("x".repeat(30_000));
  const subscribe = (uri: string): Promise<unknown> => client.call("resources/subscribe", { uri });
  const long = (i: number): string => `file:///${i}/${"x".repeat(8_000)}`;
  for (let i = 0; i < 16; i++) await subscribe(long(i));
  await expect(subscribe(long(16))).rejects.toThrow("too many subscriptions");
  // One that exists already takes no more room.
  await subscribe(long(0));
  await client.close();
});

test("a duplicate name or URI is refused", () => {
  const read = (): string => "";
  const make =
    (...resources: ReturnType<typeof resource>[]) =>
    () =>
      mcpServer({}, { ...info, resources });
  const one = { uri: "a:b", read };
  expect(make(resource({ ...one, name: "1" }), resource({ ...one, name: "2" }))).toThrow(
    'two resources have the URI "a:b"',
  );
  const many = { uriTemplate: "a:{b}", read };
  expect(make(resource({ ...many, name: "1" }), resource({ ...many, name: "2" }))).toThrow(
    'two resources have the URI "a:{b}"',
  );
  const prompts = { sum: prompt({}, () => "") };
  expect(() => mcpServer({ prompts: { sum: () => 1 } }, { ...info, prompts })).toThrow(
    '"prompts/sum" is defined twice',
  );
});
