import { once } from "node:events";
import { connect } from "node:net";
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type McpServer, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { FakeClock } from "callwire/testing";
import { afterEach, expect, test } from "vitest";
import { eventsOf, HttpClient, request } from "./asking.ts";

let http: HttpServer | undefined;

afterEach(async () => {
  await http?.close();
  http = undefined;
});

const info = { name: "test", version: "1", log: silentLog };

async function serve(server: McpServer, options: Parameters<typeof mcpMounts>[1] = {}) {
  http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server, options) });
  return new URL("/mcp", http.url).href;
}

/** A tool that reports in steps, when the test says so. */
function stepping() {
  const waiting: (() => void)[] = [];
  const steps = tool({}, async (_, call) => {
    for (const progress of [1, 2, 3]) {
      call.progress(progress);
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
    return "done";
  });
  const step = async (): Promise<void> => {
    while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
    waiting.shift()?.();
  };
  return { steps, step };
}

const call = request("tools/call", { name: "steps", _meta: { progressToken: "p" } });

test("a stream that breaks during a call is resumed without lost or repeated messages", async () => {
  const { steps, step } = stepping();
  const client = new HttpClient(await serve(mcpServer({ steps }, info)));
  await client.initialize();
  const cut = new AbortController();
  const heard: string[] = [];
  const events = eventsOf(await client.post(call, {}, cut.signal));
  let last = (await events.next()).value?.id;
  const first = (await events.next()).value;
  heard.push(first?.data ?? "");
  last = first?.id ?? last;
  cut.abort();
  // All of this is sent while no client listens.
  await step();
  await step();
  await step();
  const resumed = await client.get({ "last-event-id": last ?? "" });
  expect(resumed.status).toBe(200);
  for await (const { data } of eventsOf(resumed)) heard.push(data);
  const messages = heard.map((data) => JSON.parse(data));
  expect(messages.map(({ params, result }) => params?.progress ?? result.content[0].text)).toEqual([
    1,
    2,
    3,
    "done",
  ]);
  // It belongs to another client, or is gone.
  const other = new HttpClient(client.url);
  await other.initialize();
  expect((await other.get({ "last-event-id": last ?? "" })).status).toBe(400);
});

test("a client that never reads is disconnected, and the server continues", async () => {
  const flood = tool({}, async (_, call) => {
    for (let i = 0; !call.signal.aborted && i < 100_000; i++) {
      call.progress({ progress: i, message: "x".repeat(10_000) });
      if (i % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    ended(call.signal.aborted);
    return "done";
  });
  let ended = (_: boolean): void => {};
  const over = new Promise<boolean>((resolve) => (ended = resolve));
  const url = await serve(mcpServer({ flood }, { ...info, limits: { maxBufferedBytes: 65_536 } }));
  const client = new HttpClient(url);
  await client.initialize();
  const body = JSON.stringify(
    request("tools/call", { name: "flood", _meta: { progressToken: 1 } }),
  );
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  socket.on("error", () => {});
  const head = Object.entries({ ...client.headers(), host: "localhost" })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
  socket.write(`POST /mcp HTTP/1.1\r\n${head}content-length: ${body.length}\r\n\r\n${body}`);
  socket.pause();
  expect(await over).toBe(true);
  socket.destroy();
  expect((await client.post(request("ping"))).status).toBe(200);
});

test("sessions are bounded in number, the longest unused goes first", async () => {
  const url = await serve(mcpServer({}, info), { sessions: { max: 3 } });
  const clients = Array.from({ length: 4 }, () => new HttpClient(url));
  for (const client of clients) await client.initialize();
  const statuses = await Promise.all(clients.map((client) => client.post(request("ping"))));
  expect(statuses.map(({ status }) => status)).toEqual([404, 200, 200, 200]);
});

test("unused sessions expire, those that listen do not", async () => {
  const clock = new FakeClock();
  const url = await serve(mcpServer({}, { ...info, clock }), { sessions: { idleMs: 60_000 } });
  const [idle, busy, listening] = [0, 1, 2].map(() => new HttpClient(url)) as [
    HttpClient,
    HttpClient,
    HttpClient,
  ];
  for (const client of [idle, busy, listening]) await client.initialize();
  const gone = new AbortController();
  const stream = await listening.get({}, gone.signal);
  clock.advance(40_000);
  expect((await busy.post(request("ping"))).status).toBe(200);
  clock.advance(40_000);
  expect((await idle.post(request("ping"))).status).toBe(404);
  expect((await busy.post(request("ping"))).status).toBe(200);
  expect((await listening.post(request("ping"))).status).toBe(200);
  expect((await listening.get()).status).toBe(409);
  gone.abort();
  await stream.text().catch(() => {});
});

test("a session whose call runs is in use, however long that takes", async () => {
  const clock = new FakeClock();
  const { steps, step } = stepping();
  const server = mcpServer({ steps }, { ...info, clock, timeoutMs: 600_000 });
  const url = await serve(server, { sessions: { idleMs: 60_000, max: 2 } });
  const [busy, idle, another] = [0, 1, 2].map(() => new HttpClient(url)) as [
    HttpClient,
    HttpClient,
    HttpClient,
  ];
  await busy.initialize();
  const answer = busy.post(request("tools/call", { name: "steps" }));
  await step();
  // Neither time nor the number of other sessions ends it.
  clock.advance(150_000);
  await idle.initialize();
  await another.initialize();
  expect((await idle.post(request("ping"))).status).toBe(404);
  clock.advance(55_000);
  await step();
  await step();
  expect(await (await answer).text()).toContain("done");
  // From now on it is not.
  clock.advance(59_000);
  expect((await busy.post(request("ping"))).status).toBe(200);
  clock.advance(130_000);
  expect((await busy.post(request("ping"))).status).toBe(404);
});

test("a call without an answer in sight shows after a while that it is alive", async () => {
  const clock = new FakeClock();
  let finish = (_: string): void => {};
  let begun = (): void => {};
  const running = new Promise<void>((resolve) => (begun = resolve));
  const long = tool({}, () => {
    begun();
    return new Promise<string>((resolve) => (finish = resolve));
  });
  const client = new HttpClient(await serve(mcpServer({ long }, { ...info, clock })));
  await client.initialize();
  const pending = client.post(request("tools/call", { name: "long" }));
  await running;
  clock.advance(15_000);
  clock.advance(15_000);
  const response = await pending;
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  finish("at last");
  const events: string[] = [];
  for await (const { data } of eventsOf(response)) events.push(data);
  expect(events.at(-1)).toContain("at last");
});

test("a half-open connection does no harm", async () => {
  const url = await serve(mcpServer({}, info));
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  socket.write("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
  socket.destroy();
  const client = new HttpClient(url);
  expect((await client.initialize()).status).toBe(200);
});

test("invalid addresses do not stop the server", async () => {
  const url = await serve(mcpServer({}, info), { httpSsePath: "/sse" });
  for (const target of ["http://[/sse?sessionId=1", "//[/mcp", "/sse?%", "/mcp?%ZZ"]) {
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    socket.write(`POST ${target} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n`);
    const [chunk] = await once(socket, "data");
    expect(String(chunk)).toMatch(/^HTTP\/1\.1 4/);
    socket.destroy();
  }
  expect((await new HttpClient(url).initialize()).status).toBe(200);
});

test("invalid limits are refused by name, and so are two transports at one path", () => {
  const make = (options: object) => () => mcpServer({}, { ...info, ...options });
  expect(make({ pageSize: 0 })).toThrow("pageSize must be a number of at least 1, not 0");
  expect(make({ stateLifetimeMs: Number.NaN })).toThrow("stateLifetimeMs must be a number");
  expect(make({ tasks: { maxTasks: Number.NaN } })).toThrow("maxTasks must be a number");
  const mount = (options: object) => () => mcpMounts(mcpServer({}, info), options);
  expect(mount({ sessions: { max: Number.NaN } })).toThrow("sessions.max must be a number");
  expect(mount({ sessions: { idleMs: "30" } })).toThrow("sessions.idleMs must be a number");
  expect(mount({ httpSsePath: "/mcp" })).toThrow(
    "path and httpSsePath must differ, but both are /mcp",
  );
});
