/** Two servers that share their sessions, behind a load balancer that gives each request to the next of them. */
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, prompt, resource, tool } from "callwire/mcp";
import { type McpClient, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import type { WorkStore } from "callwire/work";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventsOf, HttpClient, request } from "./asking.ts";
import { RoundRobin } from "./round-robin.ts";

let began: (() => void)[] = [];
let onAbort: () => void;
let go: () => void;

/** Each member of the fleet returns its name. */
function member(name: string) {
  const gate = new Promise<void>((resolve) => {
    const before = go;
    go = () => {
      before();
      resolve();
    };
  });
  return mcpServer(
    {
      who: () => name,
      level: tool({}, async (_, call) => {
        call.message("debug", "heard");
        return name;
      }),
      ask: tool({}, async (_, call) => {
        const { content } = await call.elicit("Who?", { type: "object", properties: {} });
        return `${content?.name} at ${name}`;
      }),
      hang: tool({}, (_, call) => {
        call.progress(1);
        for (const each of began) each();
        return new Promise((_resolve, reject) => {
          call.signal.addEventListener("abort", () => {
            onAbort();
            reject(call.signal.reason);
          });
        });
      }),
      steps: tool({}, async (_, call) => {
        call.progress(1);
        await gate;
        call.progress(2);
        return name;
      }),
    },
    {
      name: "fleet",
      version: "1.0.0",
      log: silentLog,
      resources: [resource({ uri: "note://1", name: "one", read: () => "" })],
    },
  );
}

/** The tests that a fleet passes with any store that its members share. */
export function sharedSessionTests(newStore: () => WorkStore | Promise<WorkStore>): void {
  let servers: { readonly http: HttpServer; readonly url: string }[];
  let mcp: ReturnType<typeof member>[];
  let proxy: RoundRobin;
  let url: string;

  beforeEach(async () => {
    began = [];
    go = () => {};
    onAbort = () => {};
    const store = await newStore();
    proxy = new RoundRobin();
    mcp = [member("a"), member("b")];
    servers = await Promise.all(
      mcp.map(async (each) => {
        const mounts = mcpMounts(each, { sessions: { store } });
        const http = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
        return { http, url: new URL("/mcp", http.url).href };
      }),
    );
    for (const each of servers) proxy.add(each.url);
    url = await proxy.listen();
  });

  afterEach(async () => {
    await proxy.close();
    await Promise.all(servers.map(({ http }) => http.close()));
  });

  function connect(): McpClient {
    return mcpClient(mcpHttpLink(url), {
      name: "test",
      version: "1.0.0",
      era: "legacy",
      log: silentLog,
      elicitForm: () => ({ action: "accept", content: { name: "Ada" } }),
    });
  }

  const textOf = async (client: McpClient, name: string): Promise<unknown> => {
    const [block] = (await client.callTool(name)).content;
    return block?.type === "text" ? block.text : undefined;
  };

  test("one session is served by both, whichever gets the request", async () => {
    await using client = connect();
    const names = new Set<unknown>();
    for (let i = 0; i < 6; i++) names.add(await textOf(client, "who"));
    expect(names).toEqual(new Set(["a", "b"]));
    expect(proxy.opened).toBe(1);
  });

  test("an answer of the client that reaches one server is passed on to the server that asked", async () => {
    await using client = connect();
    const answers = new Set<unknown>();
    // With an odd number of requests between them, the next call goes to the other server.
    for (let i = 0; i < 4; i++) answers.add(await textOf(client, i % 2 === 0 ? "ask" : "who"));
    expect([...answers].filter((each) => String(each).startsWith("Ada at"))).not.toEqual([]);
    expect(proxy.opened).toBe(1);
  });

  test("a call is cancelled wherever it runs", async () => {
    await using client = connect();
    await client.connect();
    const aborted = new Promise<void>((resolve) => {
      onAbort = resolve;
    });
    const started = new Promise<void>((resolve) => began.push(resolve));
    const controller = new AbortController();
    const call = client.callTool("hang", {}, { signal: controller.signal });
    await started;
    controller.abort();
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    await aborted;
  });

  test("a session that is deleted at one server has ended at the other", async () => {
    const [a, b] = servers.map((each) => new HttpClient(each.url)) as [HttpClient, HttpClient];
    await a.initialize();
    b.session = a.session;
    expect((await b.post(request("tools/list"))).status).toBe(200);
    const { status } = await fetch(a.url, { method: "DELETE", headers: a.headers() });
    expect(status).toBe(204);
    expect((await b.post(request("tools/list"))).status).toBe(404);
    expect((await a.post(request("tools/list"))).status).toBe(404);
  });

  test("what a request changes at one server holds at the other", async () => {
    const [a, b] = servers.map((each) => new HttpClient(each.url)) as [HttpClient, HttpClient];
    await a.initialize();
    b.session = a.session;
    const call = request("tools/call", { name: "level" });
    expect((await a.post(call)).headers.get("content-type")).toBe("application/json");
    await b.post(request("logging/setLevel", { level: "debug" }));
    const events: unknown[] = [];
    for await (const { data } of eventsOf(await a.post(call)))
      if (data !== "") events.push(JSON.parse(data));
    expect(events).toMatchObject([{ method: "notifications/message" }, { result: {} }]);
  });

  test("a stream that broke at one server is resumed at the other, which follows the call to its end", async () => {
    const [a, b] = servers.map((each) => new HttpClient(each.url)) as [HttpClient, HttpClient];
    await a.initialize();
    b.session = a.session;
    const gone = new AbortController();
    const params = { name: "steps", _meta: { progressToken: 1 } };
    const broken = await a.post(request("tools/call", params), {}, gone.signal);
    let last: string | undefined;
    for await (const { id, data } of eventsOf(broken)) {
      last = id;
      if (data.includes("progress")) break;
    }
    gone.abort();
    const rest = await b.get({ "last-event-id": last ?? "" });
    expect(rest.status).toBe(200);
    go();
    const events: unknown[] = [];
    for await (const { data } of eventsOf(rest)) events.push(JSON.parse(data));
    expect(events).toMatchObject([
      { method: "notifications/progress", params: { progress: 2 } },
      { result: { content: [{ text: "a" }] } },
    ]);
    const stranger = new HttpClient(b.url);
    await stranger.initialize();
    expect((await stranger.get({ "last-event-id": last ?? "" })).status).toBe(400);
  });

  test("what a session listens on is taken over, with the events that it missed", async () => {
    const [a, b] = servers.map((each) => new HttpClient(each.url)) as [HttpClient, HttpClient];
    await a.initialize();
    b.session = a.session;
    const gone = new AbortController();
    const stream = eventsOf(await a.get({}, gone.signal));
    const first = await stream.next();
    mcp[0]?.catalog.addPrompt(
      "one",
      prompt({}, () => ""),
    );
    await stream.next();
    gone.abort();
    const taken = eventsOf(await b.get({ "last-event-id": first.value?.id ?? "" }));
    const heard = async (): Promise<string> => (await taken.next()).value?.data ?? "";
    expect(await heard()).toBe("");
    expect(await heard()).toContain("prompts/list_changed");
    mcp[1]?.catalog.addResource(resource({ uri: "note://2", name: "two", read: () => "" }));
    expect(await heard()).toContain("resources/list_changed");
  });

  test("a change that one server reports reaches clients that listen at the other, in both eras", async () => {
    const [a, b] = servers.map((each) => new HttpClient(each.url)) as [HttpClient, HttpClient];
    await a.initialize();
    b.session = a.session;
    await b.post(request("resources/subscribe", { uri: "note://1" }));
    const legacy = eventsOf(await a.get());
    await legacy.next();
    await using client = mcpClient(mcpHttpLink(a.url), { name: "test", version: "1.0.0" });
    const modern = new Promise<unknown>((resolve) => {
      void client
        .subscribe({ uris: ["note://1"] }, resolve)
        .then(() => mcp[1]?.resourceUpdated("note://1"));
    });
    expect((await legacy.next()).value?.data).toContain("note://1");
    expect(await modern).toMatchObject({ kind: "resource", uri: "note://1" });
  });
}
