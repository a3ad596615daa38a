/** What middleware hides from a caller stays hidden, whichever way the caller asks. */
import { createServer, type Middleware, method, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, prompt, resource, tool } from "callwire/mcp";
import { authenticate, authorize, bearer } from "callwire/security";
import { afterEach, expect, test } from "vitest";
import { ask, askModern, callTool, envelope, eventsOf, HttpClient, request } from "./asking.ts";

const info = { name: "test", version: "1", log: silentLog };
const people = new Map([
  ["ada", { id: "ada", roles: ["admin"], status: "active" }],
  ["bob", { id: "bob", roles: [] }],
]);
const known = authenticate(bearer((token) => people.get(token)));
const admins = authorize({ allow: [{ methods: "**", roles: ["admin"] }] });
const nobody = authorize({ allow: [{ methods: "open" }] });

let http: HttpServer | undefined;
afterEach(() => http?.close());

async function serve(...mounting: Parameters<typeof mcpMounts>): Promise<string> {
  http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(...mounting) });
  return new URL("/", http.url).href;
}

test("middleware of an MCP server wraps the methods of a server too, and hides them", async () => {
  const seen: string[] = [];
  const watch: Middleware = Object.assign(
    ((next) => (call, context) => {
      seen.push(call.method);
      return next(call, context);
    }) as Middleware,
    { visible: (name: string) => name !== "secret" },
  );
  const rpc = createServer({ open: () => 1, secret: () => 2 });
  const agents = mcpServer(rpc, { ...info, use: [watch, nobody] });
  const { result } = await ask(agents, "tools/list");
  expect(result?.tools).toMatchObject([{ name: "open" }]);
  expect(await callTool(agents, "open")).toMatchObject({ content: [{ text: "1" }] });
  expect((await ask(agents, "tools/call", { name: "secret" })).error?.code).toBe(-32004);
  expect(seen).toEqual(["open", "secret"]);
});

test("a hidden prompt or resource gets no completions, like an unknown one", async () => {
  const agents = mcpServer(
    {},
    {
      ...info,
      use: [nobody],
      prompts: {
        p: prompt({ arguments: [{ name: "a" }], complete: { a: () => ["gold"] } }, () => "p"),
      },
      resources: [
        resource({ uriTemplate: "note://{id}", complete: { id: () => ["gold"] }, read: () => "" }),
      ],
    },
  );
  const complete = (ref: object, name: string) =>
    ask(agents, "completion/complete", { ref, argument: { name, value: "" } });
  const unknown = await complete({ type: "ref/prompt", name: "none" }, "a");
  expect((await complete({ type: "ref/prompt", name: "p" }, "a")).error).toEqual(unknown.error);
  const hidden = await complete({ type: "ref/resource", uri: "note://{id}" }, "id");
  expect(hidden.error).toEqual(unknown.error);
});

test("the errors reveal neither the arguments of a hidden tool nor whether it is a task", async () => {
  const access = { roles: ["admin"] };
  const hides: Middleware = Object.assign(((next) => next) as Middleware, {
    visible: (name: string) => name !== "plain",
  });
  const agents = mcpServer(
    {
      plain: (password: string) => password,
      ruled: method({ access }, () => 1),
      tasked: method({ access, tool: { task: "required" } }, () => 1),
    },
    { ...info, use: [hides] },
  );
  const called = (name: string, more = {}) => ask(agents, "tools/call", { name, ...more });
  for (const name of ["plain", "ruled", "tasked"]) {
    const none = { code: -32602, message: `there is no tool "${name}"` };
    expect((await called(name)).error).toEqual(none);
    expect((await called(name, { task: {} })).error).toEqual(none);
    expect((await askModern(agents, "tools/call", { name })).error).toEqual(none);
  }
});

test("in the modern era a caller is notified only of resources that it may read", async () => {
  const agents = mcpServer(createServer({}, { use: [known], log: silentLog }), {
    ...info,
    use: [admins],
    resources: [resource({ uri: "note:1", read: () => "gold" })],
  });
  const url = await serve(agents);
  const heardBy = async (token: string): Promise<unknown> => {
    const notifications = { resourceSubscriptions: ["note:1", 5, "note:2"] };
    const client = new HttpClient(`${url}mcp`, "2026-07-28", { authorization: `Bearer ${token}` });
    const events = eventsOf(
      await client.post(request("subscriptions/listen", { notifications, _meta: envelope() }), {
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "subscriptions/listen",
      }),
    );
    const { value } = await events.next();
    await events.return(undefined);
    return JSON.parse(value?.data ?? "").params.notifications.resourceSubscriptions;
  };
  expect(await heardBy("ada")).toEqual(["note:1"]);
  expect(await heardBy("bob")).toEqual([]);
});

test("over HTTP+SSE every message is authenticated, not only the stream", async () => {
  const who = method({}, (_, call) => call.principal?.id);
  const rpc = createServer({ who }, { use: [known], log: silentLog });
  const url = await serve(mcpServer(rpc, info), { httpSsePath: "/sse" });
  const open = (headers: Record<string, string>) => fetch(`${url}sse`, { headers });
  const stranger = await open({});
  expect(stranger.status).toBe(401);
  expect(stranger.headers.get("www-authenticate")).toContain("Bearer");
  const events = eventsOf(await open({ authorization: "Bearer ada" }));
  const place = new URL((await events.next()).value?.data ?? "", url);
  const post = async (headers: Record<string, string>): Promise<number> => {
    const body = JSON.stringify(request("tools/call", { name: "who" }));
    return (await fetch(place, { method: "POST", headers, body })).status;
  };
  expect(await post({})).toBe(401);
  expect(await post({ authorization: "Bearer bob" })).toBe(404);
  expect(await post({ authorization: "Bearer ada" })).toBe(202);
  const { value } = await events.next();
  expect(JSON.parse(value?.data ?? "").result.content).toMatchObject([{ text: "ada" }]);
  await events.return(undefined);
});

test("the principal of a token may have members of any name", async () => {
  const agents = mcpServer({ who: tool({}, (_, call) => call.principal?.id) }, info);
  const url = await serve(agents, {
    httpSsePath: "/sse",
    authorization: {
      resource: "https://notes.example/mcp",
      authorizationServers: ["https://login.example"],
      verify: (token) => people.get(token),
    },
  });
  const authorization = "Bearer ada";
  const ada = new HttpClient(`${url}mcp`, "2025-11-25", { authorization });
  expect((await ada.initialize()).status).toBe(200);
  const stream = await fetch(`${url}sse`, { headers: { authorization } });
  expect(stream.status).toBe(200);
  await stream.body?.cancel();
});
