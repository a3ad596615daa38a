import { request } from "node:http";
import { type Context, createClient, createServer, method } from "callwire";
import { httpLink } from "callwire/http";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { sseLink } from "callwire/sse";
import { webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, finish, type Process, start, startDemo } from "./process.ts";

const server = createServer({
  add: (a: number, b: number) => a + b,
  async *count(to: number) {
    for (let n = 0; n < to; n++) yield n;
  },
  whoami: method({}, (_: unknown, call: Context) => {
    const { authorization, origin, cookie } = call.transport.headers;
    return { authorization, origin, cookie };
  }),
});
let target: HttpServer;
let page: Process;
let origin: string;

beforeAll(async () => {
  await build();
  target = await serveHttp(server, { port: 0 });
  page = start(["playground", target.url, "--port", "0", "-H", "authorization: Bearer token"]);
  [origin] = await page.shown(/http:\/\/127\.0\.0\.1:\d+(?=\/$)/m);
});

afterAll(async () => {
  await page[Symbol.asyncDispose]();
  await server.close();
});

test("prints the address of the page and of the server", async () => {
  await page.shown(/Ctrl-C/);
  expect(page.stdout).toContain(`${origin}/`);
  expect(page.stdout).toContain(target.url);
});

test("reports an address where no server answers", async () => {
  await using dead = start(["playground", "http://127.0.0.1:1/rpc", "--port", "0", "--no-open"]);
  await dead.shown(
    /^callwire: http:\/\/127\.0\.0\.1:1\/rpc is not reachable: .*until a server answers$/m,
    "stderr",
  );
  await dead.shown(/Playground/);
  await using misplaced = start(["playground", `${target.url}/no`, "--port", "0", "--no-open"]);
  await misplaced.shown(
    /does not answer with JSON-RPC, but .*; try http:\/\/127\.0\.0\.1:\d+\/rpc/,
    "stderr",
  );
  expect(page.stderr).toBe("");
});

test("the page knows the server behind it", async () => {
  expect(await (await fetch(`${origin}/`)).text()).toContain("callwire playground");
  const told = await (await fetch(`${origin}/playground.json`)).json();
  const wires = ["http", "websocket", "sse"];
  expect(told).toEqual({ endpoints: ["/rpc"], target: target.url, wires });
});

describe.each([
  ["HTTP", (url: string) => httpLink(url)],
  ["SSE", (url: string) => sseLink(url)],
  ["WebSocket", (url: string) => webSocketLink(url)],
])("calls over %s", (_, link) => {
  test("are forwarded, with the header", async () => {
    await using client = createClient(link(`${origin}/rpc`));
    expect(await client.call("add", [2, 3])).toBe(5);
    expect(await client.call("whoami")).toEqual({ authorization: "Bearer token" });
    const items: unknown[] = [];
    for await (const item of client.stream("count", [3])) items.push(item);
    expect(items).toEqual([0, 1, 2]);
  });
});

/** The status that a request with these headers gets. */
function statusOf(path: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(origin);
    const sent = { host: `127.0.0.1:${port}`, "content-type": "application/json", ...headers };
    request({ host: "127.0.0.1", port, path, method: "POST", headers: sent }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on("upgrade", () => resolve(101))
      .on("error", reject)
      .end('{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}');
  });
}

test.each<[string, Record<string, string>]>([
  ["another origin", { origin: "http://evil.example" }],
  ["another site", { "sec-fetch-site": "cross-site" }],
  ["a name that was rebound", { host: "evil.example" }],
])("pages of %s reach nothing", async (_, headers) => {
  expect(await statusOf("/rpc", {})).toBe(200);
  expect(await statusOf("/rpc", headers)).toBe(403);
  const upgrade = { connection: "Upgrade", upgrade: "websocket" };
  expect(await statusOf("/rpc", { ...headers, ...upgrade })).toBe(403);
});

test("the demo has the page, and prints its address first", async () => {
  await using demo = await startDemo();
  await demo.shown(/Ctrl-C/);
  const [, , first] = demo.stdout.split("\n");
  expect(first).toContain(`Playground  ${demo.origin}/`);
  expect(await (await fetch(`${demo.origin}/`)).text()).toContain("callwire playground");
});

test("a gateway serves the page if the option is set, whatever the wire behind it", async () => {
  await using demo = await startDemo(["--tcp", "0"]);
  const [, port] = await demo.shown(/TCP +(127\.0\.0\.1:\d+)/);
  await using gateway = start(["gateway", "--to", `tcp://${port}`, "--port", "0", "--playground"]);
  const [, own = ""] = await gateway.shown(/Playground +(http:\S+)/);
  expect((await fetch(own)).status).toBe(200);
  await using client = createClient(httpLink(`${own}rpc`));
  expect(await client.call("math/add", [2, 3])).toBe(5);
});

test("a server that is down is reported as such", async () => {
  await using own = start(["playground", "http://127.0.0.1:1/rpc", "--port", "0"]);
  const [place] = await own.shown(/http:\/\/127\.0\.0\.1:\d+(?=\/$)/m);
  const answer = await fetch(`${place}/rpc`, { method: "POST", body: "{}" });
  expect(answer.status).toBe(502);
  await own.shown(/^callwire: http:\/\/127\.0\.0\.1:1\/rpc is not reachable: .+\n$/, "stderr");
  own.child.kill("SIGINT");
  expect((await own.exited).code).toBe(0);
});

test.each([
  [[], /needs an address/],
  [["ftp://there"], /not an http, https, ws or wss address/],
  [["tcp://there:1"], /try callwire gateway --to tcp:\/\/there:1 --playground/],
  [["http://user:secret@there/"], /credentials in the address are not sent; use --header/],
  [["http://there", "more"], /unexpected argument "more"/],
  [["http://there", "--port", "x"], /--port must be an integer/],
])("%j is not understood", async (args, sentence) => {
  const { code, stderr } = await finish(["playground", ...args]);
  expect(code).toBe(2);
  expect(stderr).toMatch(sentence);
  expect(stderr).not.toContain("secret");
});

test("the credentials that the server accepts are shown on the page", async () => {
  const guarded = createServer({}, { use: [authenticate(bearer(() => undefined))] });
  const http = await serveHttp(guarded, { port: 0 });
  await using forwarding = start(["playground", http.url, "--port", "0", "--no-open"]);
  const [own] = await forwarding.shown(/http:\/\/127\.0\.0\.1:\d+(?=\/$)/m);
  const response = await fetch(`${own}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","method":"add","id":1}',
  });
  expect(response.status).toBe(401);
  expect(response.headers.get("www-authenticate")).toContain("Bearer");
  await guarded.close();
});
