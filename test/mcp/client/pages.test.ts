/** A server of 2025-11-25 may refuse a request until its user has visited a page. */
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { McpError, McpErrorCode, type McpServer, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { type McpClientOptions, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";

const page = (id: string) => ({
  mode: "url",
  message: `Visit ${id}`,
  url: `https://example.com/${id}`,
  elicitationId: id,
});
const wanted = (...ids: string[]) =>
  new McpError(McpErrorCode.UrlElicitationRequired, "Pages to visit", {
    elicitations: ids.map(page),
  });

let server: McpServer;
let http: HttpServer;
let calls: number;
/** What the tool throws each time it is called; after these, it works. */
let refusals: McpError[];
let called: () => void;

beforeEach(async () => {
  calls = 0;
  called = () => {};
  const pay = tool({}, () => {
    calls++;
    called();
    const refusal = refusals.shift();
    if (refusal !== undefined) throw refusal;
    return "paid";
  });
  server = mcpServer({ pay }, { name: "test", version: "1", log: silentLog });
  http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
});

afterEach(async () => {
  await http.close();
  await server.close();
});

function clientWith(options: Partial<McpClientOptions>) {
  // Its time stands still, so that the client waits for the stream of the session, however slowly
  // it opens.
  return mcpClient(mcpHttpLink(new URL("/mcp", http.url), { clock: new FakeClock() }), {
    name: "test",
    version: "1.0.0",
    log: silentLog,
    era: "legacy",
    ...options,
  });
}

test("the user visits each page once, and the call is repeated", async () => {
  refusals = [wanted("a", "b"), wanted("b", "c")];
  const visited: unknown[] = [];
  await using client = clientWith({
    elicitUrl: (params) => {
      visited.push(params);
      return { action: "accept" };
    },
  });
  expect(await client.callTool("pay")).toMatchObject({ content: [{ text: "paid" }] });
  expect(visited).toEqual([page("a"), page("b"), page("c")]);
  expect(calls).toBe(3);
});

test("while the user is still there, the server says when to call again", async () => {
  refusals = [wanted("a"), wanted("a")];
  const clock = new FakeClock();
  let visits = 0;
  await using client = clientWith({
    clock,
    elicitUrl: () => {
      visits++;
      return { action: "accept" };
    },
  });
  const twice = new Promise<void>((resolve) => {
    called = () => {
      if (calls === 2) resolve();
    };
  });
  // From here on the client receives what the server sends outside of requests.
  await using _ = await client.subscribe({ tools: true }, () => {});
  const call = client.callTool("pay");
  await twice;
  // No clock moves here: only a notification of the server causes the third call.
  server.elicitationComplete("a");
  expect(await call).toMatchObject({ content: [{ text: "paid" }] });
  expect(visits).toBe(1);
});

test("a call is repeated after a while if the server never reports the visit", async () => {
  refusals = [wanted("a"), wanted("a"), wanted("a")];
  const clock = new FakeClock();
  await using client = clientWith({
    clock,
    // A second passes in each turn of the loop, and the number of turns that an answer takes is
    // unknown.
    timeoutMs: Number.POSITIVE_INFINITY,
    elicitUrl: () => ({ action: "accept" }),
  });
  const paid = await whileTimePasses(clock, 1_000, client.callTool("pay"));
  expect(paid).toMatchObject({ content: [{ text: "paid" }] });
  expect(calls).toBe(4);
});

test.each(["decline", "cancel"] as const)(
  "a user who answers %s is not asked again",
  async (action) => {
    refusals = [wanted("a", "b")];
    let visits = 0;
    await using client = clientWith({
      elicitUrl: () => {
        visits++;
        return { action };
      },
    });
    await expect(client.callTool("pay")).rejects.toMatchObject({
      code: -32042,
      message: "the request requires a visit to https://example.com/a, which the user declined",
      data: { elicitations: [page("a"), page("b")] },
    });
    expect([visits, calls]).toEqual([1, 1]);
  },
);

test("without a handler, or a list of pages, the error is the server's own", async () => {
  refusals = [wanted("a")];
  await using without = clientWith({});
  await expect(without.callTool("pay")).rejects.toMatchObject({
    code: -32042,
    message: "Pages to visit",
    data: { elicitations: [page("a")] },
  });
  await using client = clientWith({ elicitUrl: () => ({ action: "accept" }) });
  for (const elicitations of [undefined, [], "a", [{ mode: "form" }], [page("a"), null]]) {
    refusals = [new McpError(-32042, "Pages to visit", { elicitations })];
    await expect(client.callTool("pay")).rejects.toThrow("Pages to visit");
  }
});

test("the client gives up on a server that always has another page", async () => {
  refusals = Array.from({ length: 100 }, (_, i) => wanted(`page-${i}`));
  await using client = clientWith({ elicitUrl: () => ({ action: "accept" }) });
  await expect(client.callTool("pay")).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(calls).toBe(32);
});

test("a cancelled call does not wait for a page", async () => {
  refusals = Array.from({ length: 100 }, () => wanted("a"));
  const gone = new AbortController();
  called = () => {
    if (calls === 2) setImmediate(() => gone.abort());
  };
  const clock = new FakeClock();
  await using client = clientWith({ clock, elicitUrl: () => ({ action: "accept" }) });
  const call = client.callTool("pay", {}, { signal: gone.signal });
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
});
