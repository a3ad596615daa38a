import {
  createServer,
  type Middleware,
  method,
  type Principal,
  RpcError,
  silentLog,
} from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, tool } from "callwire/mcp";
import { authenticate, authorize, bearer } from "callwire/security";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { envelope, eventsOf, HttpClient, request } from "./asking.ts";

const resource = "https://mcp.example/mcp";

const tokens: Readonly<Record<string, Principal>> = {
  ada: { id: "ada", scopes: ["mcp", "write"], claims: { aud: resource } },
  bob: { id: "bob", scopes: ["mcp"], claims: { aud: ["https://other.example", resource] } },
  // Issued for another service.
  eve: { id: "eve", scopes: ["mcp"], claims: { aud: "https://other.example" } },
  // Without the scope that every caller needs.
  dan: { id: "dan", scopes: [], claims: { aud: resource } },
};

/** Writing requires a scope, and callers without it do not see the tool. */
const scopes: Middleware = Object.assign(
  ((next) => (call, context) => {
    if (call.method === "write" && context.principal?.scopes?.includes("write") !== true) {
      throw new RpcError(-32001, "Insufficient scope", { scope: "mcp write" }, { status: 403 });
    }
    return next(call, context);
  }) as Middleware,
  {
    visible: (name: string, context: { principal: Principal | undefined }) =>
      name !== "write" || context.principal?.scopes?.includes("write") === true,
  },
);

let http: HttpServer;
let url: string;

beforeAll(async () => {
  const server = mcpServer(
    {
      write: () => "written",
      who: tool({ task: "optional" }, (_, call) => call.principal?.id ?? "nobody"),
    },
    { name: "test", version: "1", use: [scopes], log: silentLog },
  );
  const mounts = mcpMounts(server, {
    authorization: {
      resource,
      authorizationServers: ["https://auth.example"],
      requiredScopes: ["mcp"],
      scopesSupported: ["mcp", "write"],
      verify: (token) => {
        if (token === "broken") throw new Error("the key store is down");
        return Object.hasOwn(tokens, token) ? tokens[token] : undefined;
      },
    },
  });
  http = await serveHttp(createServer({}), { port: 0, mounts });
  url = new URL("/mcp", http.url).href;
});

afterAll(() => http.close());

function as(token: string): HttpClient {
  return new HttpClient(url, "2025-11-25", { authorization: `Bearer ${token}` });
}

const metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

test("a client without a token gets a challenge that says where to get one", async () => {
  const response = await new HttpClient(url).initialize();
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toBe(
    `Bearer scope="mcp", resource_metadata="${metadata}"`,
  );
  for (const path of ["", "/mcp"]) {
    const place = new URL(`/.well-known/oauth-protected-resource${path}`, url);
    expect(await (await fetch(place)).json()).toEqual({
      resource,
      authorization_servers: ["https://auth.example"],
      bearer_methods_supported: ["header"],
      scopes_supported: ["mcp", "write"],
    });
  }
});

test.each(["nobody", "eve", "not a token"])("the token %j is refused", async (token) => {
  const response = await as(token).initialize();
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toContain('error="invalid_token"');
});

test("a token without a required scope gets a challenge that names it", async () => {
  const response = await as("dan").initialize();
  expect(response.status).toBe(403);
  expect(response.headers.get("www-authenticate")).toBe(
    `Bearer error="insufficient_scope", scope="mcp", resource_metadata="${metadata}"`,
  );
});

test("a tool may need a scope, which is listed; callers without it do not see the tool", async () => {
  const [ada, bob] = [as("ada"), as("bob")];
  await ada.initialize();
  await bob.initialize();
  const names = async (client: HttpClient): Promise<string[]> => {
    const { result } = await (await client.post(request("tools/list"))).json();
    return result.tools.map((each: { name: string }) => each.name);
  };
  expect(await names(ada)).toEqual(["write", "who"]);
  expect(await names(bob)).toEqual(["who"]);
  const call = request("tools/call", { name: "write" });
  expect((await ada.post(call)).status).toBe(200);
  const refused = await bob.post(call);
  expect(refused.status).toBe(403);
  expect(refused.headers.get("www-authenticate")).toContain('scope="mcp write"');
});

test("a session is its owner's: for others it is not there", async () => {
  const [ada, bob] = [as("ada"), as("bob")];
  await ada.initialize();
  bob.session = ada.session;
  expect((await bob.post(request("ping"))).status).toBe(404);
  expect((await bob.get()).status).toBe(404);
  const ended = await fetch(url, { method: "DELETE", headers: bob.headers() });
  expect(ended.status).toBe(404);
  expect((await ada.post(request("ping"))).status).toBe(200);
});

test("handlers know who calls, in both eras", async () => {
  const ada = as("ada");
  await ada.initialize();
  const legacy = await (await ada.post(request("tools/call", { name: "who" }))).json();
  expect(legacy.result.content[0].text).toBe("ada");
  const modern = await as("bob").post(request("tools/call", { name: "who", _meta: envelope() }), {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "who",
  });
  expect((await modern.json()).result.content[0].text).toBe("bob");
});

test("a failure to verify tokens is a 503 without details", async () => {
  const response = await as("broken").initialize();
  expect(response.status).toBe(503);
  expect(await response.text()).not.toContain("key store");
});

test("the guards of a server apply to agents: authentication, visibility and permissions", async () => {
  const rpc = createServer(
    {
      open: () => 1,
      notes: { read: () => 2, remove: method({ access: { roles: ["admin"] } }, () => 3) },
    },
    {
      log: silentLog,
      use: [
        authenticate(bearer((token) => (token === "ada" ? { id: "ada", roles: [] } : undefined))),
        authorize({ allow: [{ methods: "notes/*", principals: "ada" }] }),
      ],
    },
  );
  const agents = mcpServer(rpc, { name: "test", version: "1", log: silentLog });
  const own = await serveHttp(rpc, { port: 0, mounts: mcpMounts(agents) });
  const place = new URL("/mcp", own.url).href;
  const refused = await new HttpClient(place).initialize();
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toContain("Bearer");
  const ada = new HttpClient(place, "2025-11-25", { authorization: "Bearer ada" });
  await ada.initialize();
  const { result } = await (await ada.post(request("tools/list"))).json();
  expect(result.tools.map((each: { name: string }) => each.name)).toEqual(["notes_read"]);
  const call = async (name: string): Promise<number> =>
    (await ada.post(request("tools/call", { name }))).status;
  expect(await call("notes_read")).toBe(200);
  expect(await call("open")).toBe(403);
  // For callers that its own rule excludes, the method does not exist.
  const hidden = await ada.post(request("tools/call", { name: "notes_remove" }));
  expect(await hidden.json()).toMatchObject({ error: { code: -32602 } });
  const other = new HttpClient(place, "2025-11-25", { authorization: "Bearer eve" });
  other.session = ada.session;
  expect((await other.post(request("ping"))).status).toBe(401);
  await own.close();
});

test("a task is reported only to the caller that began it", async () => {
  const extension = { extensions: { "io.modelcontextprotocol/tasks": {} } };
  const modern = (client: HttpClient, method: string, params: object, more = {}) =>
    client.post(request(method, { ...params, _meta: envelope(extension) }), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      ...more,
    });
  const [ada, bob] = [as("ada"), as("bob")];
  const begun = await modern(ada, "tools/call", { name: "who" }, { "mcp-name": "who" });
  const { taskId } = (await begun.json()).result;
  const listens = async (client: HttpClient): Promise<unknown> => {
    const notifications = { taskIds: [taskId] };
    const events = eventsOf(await modern(client, "subscriptions/listen", { notifications }));
    const { value } = await events.next();
    await events.return(undefined);
    return JSON.parse(value?.data ?? "").params.notifications.taskIds;
  };
  expect(await listens(ada)).toEqual([taskId]);
  expect(await listens(bob)).toEqual([]);
});

/** Starts tasks of a tool and requests their state, with a given token. */
async function tasksOf(run: Parameters<typeof tool>[1], maxTasks: number) {
  const job = tool({ task: "optional" }, run);
  const agents = mcpServer({ job }, { name: "test", version: "1", tasks: { maxTasks } });
  const verify = (token: string) => tokens[token];
  const authorization = { resource, authorizationServers: ["https://auth.example"], verify };
  const mounts = mcpMounts(agents, { authorization });
  const own = await serveHttp(createServer({}), { port: 0, mounts });
  onTestFinished(() => own.close());
  const place = new URL("/mcp", own.url).href;
  const ask = async (token: string, method: string, params: object, name: string) => {
    const client = new HttpClient(place, "2026-07-28", { authorization: `Bearer ${token}` });
    const _meta = envelope({ extensions: { "io.modelcontextprotocol/tasks": {} } });
    const response = await client.post(request(method, { ...params, _meta }), {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": method,
      "mcp-name": name,
    });
    return response.json();
  };
  const begin = async (token: string): Promise<string | undefined> =>
    (await ask(token, "tools/call", { name: "job" }, "job")).result?.taskId;
  return { ask, begin };
}

test("no caller can run so many tasks that others have no place", async () => {
  const { ask, begin } = await tasksOf((_, { signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  }, 8);
  const begun = async (token: string) => {
    const all: string[] = [];
    for (let i = 0; i < 20; i++) {
      const taskId = await begin(token);
      if (taskId !== undefined) all.push(taskId);
    }
    return all;
  };
  const bobs = await begun("bob");
  const adas = await begun("ada");
  expect([bobs.length, adas.length]).toEqual([5, 2]);
  // A place that one caller frees is available to the other.
  for (const taskId of bobs) await ask("bob", "tasks/cancel", { taskId }, taskId);
  expect(await begun("ada")).toHaveLength(3);
});

test("no caller loses the result of a task to one that has more of them", async () => {
  const { ask, begin } = await tasksOf((_, call) => call.principal?.id ?? "nobody", 3);
  const adas = (await begin("ada")) as string;
  const bobs: string[] = [];
  for (let i = 0; i < 4; i++) bobs.push((await begin("bob")) as string);
  const kept = await ask("ada", "tasks/get", { taskId: adas }, adas);
  expect(kept.result.result.content).toMatchObject([{ text: "ada" }]);
  const found = async (taskId: string) =>
    "result" in (await ask("bob", "tasks/get", { taskId }, taskId));
  expect(await Promise.all(bobs.map(found))).toEqual([false, false, true, true]);
});
