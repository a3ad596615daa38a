import { createServer as createNodeServer, request as nodeRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { McpErrorCode, mcpHandler, mcpMounts, mcpServer, tool } from "callwire/mcp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { envelope, eventsOf, HttpClient, request } from "./asking.ts";

const mcp = mcpServer(
  {
    echo: (message: unknown) => message,
    asks: tool({}, async (_, call) => {
      const { action } = await call.elicit("Well?", { type: "object", properties: {} });
      return action;
    }),
    waits: tool({}, (_, call) => {
      started();
      return new Promise((_resolve, reject) => {
        call.signal.addEventListener("abort", () => {
          aborted();
          reject(call.signal.reason);
        });
      });
    }),
  },
  { name: "test", version: "1", log: silentLog },
);
let started = (): void => {};
let aborted = (): void => {};

let http: HttpServer;
let url: string;

beforeAll(async () => {
  http = await serveHttp(createServer({}), {
    port: 0,
    mounts: mcpMounts(mcp, { origins: ["https://app.example"] }),
    origins: ["https://app.example"],
  });
  url = new URL("/mcp", http.url).href;
});

afterAll(() => http.close());

async function opened(revision?: string, capabilities?: object): Promise<HttpClient> {
  const client = new HttpClient(url, revision);
  await client.initialize(capabilities);
  return client;
}

describe("a session", () => {
  test("begins with initialize, in the client's revision or in ours", async () => {
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]) {
      const response = await new HttpClient(url, revision).initialize();
      expect(response.headers.get("mcp-session-id")).toMatch(/^[\x21-\x7e]+$/);
      expect(await response.json()).toMatchObject({ result: { protocolVersion: revision } });
    }
    const response = await new HttpClient(url, "1999-01-01").initialize();
    expect(await response.json()).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  });

  test("is required, must be known, and cannot be opened twice", async () => {
    const client = await opened();
    const without = await new HttpClient(url).post(request("tools/list"));
    expect(without.status).toBe(400);
    const unknown = await client.post(request("tools/list"), { "mcp-session-id": "nobody" });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toEqual({
      jsonrpc: "2.0",
      error: { code: McpErrorCode.SessionNotFound, message: "Session not found" },
    });
    const again = await client.post(request("initialize", { protocolVersion: "2025-11-25" }));
    expect(again.status).toBe(400);
    const refused = await client.post(request("tools/list"), { "mcp-protocol-version": "v9" });
    expect(refused.status).toBe(400);
  });

  test("ends with DELETE, and is unknown afterwards", async () => {
    const client = await opened();
    const ended = await fetch(url, { method: "DELETE", headers: client.headers() });
    expect(ended.status).toBe(204);
    expect((await client.post(request("ping"))).status).toBe(404);
    expect((await fetch(url, { method: "DELETE" })).status).toBe(405);
  });

  test("a failed initialize opens none", async () => {
    const response = await new HttpClient(url).post(request("initialize", {}));
    expect(response.headers.get("mcp-session-id")).toBeNull();
    expect(await response.json()).toMatchObject({ error: { code: -32602 } });
  });
});

test.each([0, "", -1, "a b"])("the id %j comes back", async (id) => {
  const client = await opened();
  const message = { jsonrpc: "2.0", id, method: "ping" };
  expect(await (await client.post(message)).json()).toEqual({ jsonrpc: "2.0", id, result: {} });
});

test("an invalid request is refused, without a null id", async () => {
  const client = await opened();
  for (const body of [
    "{",
    "1",
    '"x"',
    '{"jsonrpc":"2.0","id":null,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
    '{"jsonrpc":"1.0","id":1,"method":"ping"}',
    '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
  ]) {
    const response = await client.post(body);
    const text = await response.text();
    expect([response.status, text.includes('"id":null')], body).toEqual([400, false]);
    expect(JSON.parse(text).error.code, body).toBeLessThan(-32599);
  }
});

test("batches are of one revision", async () => {
  const client = await opened("2025-03-26");
  const batch = [request("ping"), { jsonrpc: "2.0", method: "notifications/x" }, request("ping")];
  expect(await (await client.post(batch)).json()).toHaveLength(2);
  const silent = await client.post([{ jsonrpc: "2.0", method: "notifications/x" }]);
  expect(silent.status).toBe(202);
  const replies = await client.post([{ jsonrpc: "2.0", id: 1, result: {} }]);
  expect(replies.status).toBe(202);
  const begins = [request("initialize", { protocolVersion: "2025-03-26" })];
  expect((await client.post(begins)).status).toBe(400);
});

test("a batch without a session is refused in every era", async () => {
  const client = new HttpClient(url);
  const response = await client.post([request("tools/list", { _meta: envelope() })]);
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { code: -32600 } });
});

test("the table of refusals", async () => {
  const client = await opened();
  const ping = request("ping");
  expect((await client.post(ping, { "content-type": "text/plain" })).status).toBe(415);
  const unacceptable = await client.get({ accept: "application/json" });
  expect(unacceptable.status).toBe(406);
  expect(await unacceptable.json()).toMatchObject({
    error: { message: "the Accept header of a GET must list text/event-stream" },
  });
  expect((await client.post(ping, { accept: "application/json" })).status).toBe(200);
  expect((await fetch(url)).status).toBe(405);
  expect((await fetch(url, { method: "PUT", body: "{}" })).headers.get("allow")).toContain("POST");
  const large = await client.post(`"${"x".repeat(1024 * 1024)}"`);
  expect(large.status).toBe(413);
  expect(await statusWith({ origin: "https://evil.example" })).toBe(403);
  expect(await statusWith({ host: "evil.example" })).toBe(403);
});

/** `fetch` does not let its caller set these headers. */
function statusWith(headers: Record<string, string>, place = url): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = nodeRequest(place, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
    });
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(request("initialize", { protocolVersion: "2025-11-25" })));
  });
}

test("an answer to a question arrives with the session that was asked, and with no other", async () => {
  const client = await opened("2025-11-25", { elicitation: {} });
  const other = await opened();
  const response = await client.post(request("tools/call", { name: "asks" }));
  const events = eventsOf(response);
  const first = await events.next();
  expect(first.value).toMatchObject({ id: expect.any(String), data: "" });
  const question = JSON.parse((await events.next()).value?.data ?? "");
  expect(question).toMatchObject({ method: "elicitation/create", params: { message: "Well?" } });
  const answer = { jsonrpc: "2.0", id: question.id, result: { action: "decline" } };
  expect((await other.post(answer)).status).toBe(202);
  expect((await client.post(answer)).status).toBe(202);
  const last = JSON.parse((await events.next()).value?.data ?? "");
  expect(last).toMatchObject({ result: { content: [{ text: "decline" }] } });
  expect((await events.next()).done).toBe(true);
});

test.each([
  ["a message of its own", "2025-11-25", (message: object) => message],
  ["a batch", "2025-03-26", (message: object) => [message]],
])("a call that is cancelled in %s stops, and has no answer", async (_, revision, inPayload) => {
  const client = await opened(revision);
  const running = new Promise<void>((resolve) => (started = resolve));
  const stopped = new Promise<void>((resolve) => (aborted = resolve));
  const call = { jsonrpc: "2.0", id: "the call", method: "tools/call", params: { name: "waits" } };
  const response = client.post(call);
  await running;
  const params = { requestId: "the call" };
  const cancel = inPayload({ jsonrpc: "2.0", method: "notifications/cancelled", params });
  expect((await client.post(cancel)).status).toBe(202);
  await stopped;
  expect(await (await response).text()).toBe("");
});

describe("in the modern era", () => {
  const modern = (method: string, params: object = {}): [object, Record<string, string>] => [
    request(method, { ...params, _meta: envelope() }),
    { "mcp-protocol-version": "2026-07-28", "mcp-method": method },
  ];

  test("no session is made or looked at", async () => {
    const [message, headers] = modern("tools/list");
    const client = new HttpClient(url);
    const response = await client.post(message, { ...headers, "mcp-session-id": "nobody" });
    expect(response.status).toBe(200);
    expect(response.headers.get("mcp-session-id")).toBeNull();
  });

  test("a client that goes has cancelled its call", async () => {
    const running = new Promise<void>((resolve) => (started = resolve));
    const stopped = new Promise<void>((resolve) => (aborted = resolve));
    const [message, headers] = modern("tools/call", { name: "waits" });
    const gone = new AbortController();
    const response = new HttpClient(url).post(
      message,
      { ...headers, "mcp-name": "waits" },
      gone.signal,
    );
    await running;
    gone.abort();
    await expect(response).rejects.toThrow();
    await stopped;
  });

  test("a header of many spaces is refused as different from the body", async () => {
    const [message, headers] = modern("tools/call", { name: "echo" });
    const name = `echo${" ".repeat(15_000)}echo`;
    const response = await new HttpClient(url).post(message, { ...headers, "mcp-name": name });
    expect(await response.json()).toMatchObject({ error: { code: McpErrorCode.HeaderMismatch } });
  });

  test("listening ends with an answer when the server closes", async () => {
    const server = mcpServer({ a: () => 1 }, { name: "test", version: "1", log: silentLog });
    const own = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(server) });
    const message = request("subscriptions/listen", {
      _meta: envelope(),
      notifications: { toolsListChanged: true, promptsListChanged: true },
    });
    const response = await new HttpClient(new URL("/mcp", own.url).href).post(message, {
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "subscriptions/listen",
    });
    const events = eventsOf(response);
    const next = async () => JSON.parse((await events.next()).value?.data ?? "{}");
    expect(await next()).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { toolsListChanged: true } },
    });
    server.catalog.addMethods({ b: () => 2 });
    expect(await next()).toMatchObject({ method: "notifications/tools/list_changed" });
    await server.close();
    expect(await next()).toMatchObject({ result: { resultType: "complete" } });
    await own.close();
  });
});

test("pages of listed origins may call, and read the session's id", async () => {
  const asked = await fetch(url, {
    method: "OPTIONS",
    headers: { origin: "https://app.example", "access-control-request-headers": "mcp-session-id" },
  });
  expect(asked.status).toBe(204);
  expect(asked.headers.get("access-control-allow-headers")).toBe("mcp-session-id");
  const client = new HttpClient(url, "2025-11-25", { origin: "https://app.example" });
  const { headers } = await client.initialize();
  expect(headers.get("access-control-allow-origin")).toBe("https://app.example");
  expect(headers.get("access-control-expose-headers")).toBe("mcp-session-id");
  expect(client.session).toBeDefined();
});

test("mounted in another server, the handler checks Host and Origin itself", async () => {
  const own = createNodeServer(mcpHandler(mcp, { origins: ["https://app.example"] }));
  await new Promise<void>((resolve) => own.listen(0, "127.0.0.1", resolve));
  const place = `http://127.0.0.1:${(own.address() as AddressInfo).port}/anywhere`;
  expect(await statusWith({}, place)).toBe(200);
  expect(await statusWith({ origin: "https://app.example" }, place)).toBe(200);
  expect(await statusWith({ origin: "https://evil.example" }, place)).toBe(403);
  expect(await statusWith({ host: "evil.example" }, place)).toBe(403);
  own.closeAllConnections();
  await new Promise((resolve) => own.close(resolve));
});
