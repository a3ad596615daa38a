import { silentLog } from "callwire";
import { type McpClientOptions, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { json, legacy, modern, rawServer, result } from "./raw-server.ts";

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog };

const events = (...lines: string[]): string => `${lines.join("\n")}\n\n`;
const eventHeaders = { "content-type": "text/event-stream" };

describe("the legacy era over HTTP", () => {
  test("the session, its revision and its end are sent in headers", async () => {
    await using server = await rawServer(
      legacy((request, response) => {
        if (request.verb === "POST") result(response, request, { tools: [] });
        else response.writeHead(request.verb === "GET" ? 405 : 200).end();
      }),
    );
    const client = mcpClient(mcpHttpLink(server.url), self);
    await client.tools().all();
    await client.close();
    const list = server.seen.find(({ message }) => message.method === "tools/list");
    expect(list?.headers).toMatchObject({
      "mcp-session-id": "s1",
      "mcp-protocol-version": "2025-11-25",
      accept: "application/json, text/event-stream",
    });
    expect(server.seen.at(-1)).toMatchObject({
      verb: "DELETE",
      headers: { "mcp-session-id": "s1" },
    });
  });

  test("a stream that breaks repeatedly is not requested at once, whatever the server says", async () => {
    const delays: number[] = [];
    class HeardClock extends FakeClock {
      override after(delayMs: number, run: () => void) {
        delays.push(delayMs);
        return super.after(delayMs, run);
      }
    }
    let cuts = 0;
    let id: number | undefined;
    await using server = await rawServer(
      legacy((request, response) => {
        id ??= request.message.id;
        response.writeHead(200, eventHeaders);
        const reply = JSON.stringify({ jsonrpc: "2.0", id, result: { content: [] } });
        const isOver = request.verb === "GET" && ++cuts === 4;
        response.end(events(`id: ${cuts}`, "retry: 0", `data: ${isOver ? reply : ""}`));
      }),
    );
    const clock = new HeardClock();
    const link = mcpHttpLink(server.url, { clock, serverStream: false });
    await using client = mcpClient(link, { ...self, timeoutMs: Number.POSITIVE_INFINITY });
    expect(await whileTimePasses(clock, 5, client.callTool("x"))).toEqual({ content: [] });
    expect(delays).toEqual([20, 20, 20, 20]);
  });

  test("a stream that was cut is resumed from its last event", async () => {
    const cut = legacy((request, response) => {
      if (request.verb === "POST") {
        response.writeHead(200, eventHeaders);
        response.end(events("id: 7", "retry: 1", "data: "));
      } else if (request.headers["last-event-id"] === undefined) response.writeHead(405).end();
      else {
        const call = server.seen.find(({ message }) => message.method === "tools/call");
        const reply = { jsonrpc: "2.0", id: call?.message.id, result: { content: [] } };
        response.writeHead(200, eventHeaders);
        response.end(events("id: 8", `data: ${JSON.stringify(reply)}`));
      }
    });
    await using server = await rawServer(cut);
    await using client = mcpClient(mcpHttpLink(server.url), self);
    expect(await client.callTool("work")).toEqual({ content: [] });
    const resumed = server.seen.find(({ headers }) => headers["last-event-id"] !== undefined);
    expect(resumed).toMatchObject({ verb: "GET", headers: { "last-event-id": "7" } });
  });

  test("a stream that ends early and cannot be resumed fails the call", async () => {
    await using server = await rawServer(
      legacy((request, response) => {
        if (request.verb === "POST") response.writeHead(200, eventHeaders).end(": nothing\n\n");
        else response.writeHead(405).end();
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.callTool("work")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  });

  test.each([400, 404, 405])(
    "a call whose stream is gone when it is asked for again (%i) is not made again",
    async (status) => {
      await using server = await rawServer(
        legacy((request, response) => {
          if (request.headers["last-event-id"] !== undefined) response.writeHead(status).end();
          else if (request.verb === "GET") response.writeHead(405).end();
          else {
            response.writeHead(200, eventHeaders);
            response.end(events("id: 7", "retry: 1", "data: "));
          }
        }),
      );
      await using client = mcpClient(mcpHttpLink(server.url), self);
      await expect(client.callTool("pay")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
      const made = server.seen.filter(({ message }) => message.method === "tools/call");
      expect(made).toHaveLength(1);
    },
  );

  test("a cancelled call is reported to the server", async () => {
    const gone = new AbortController();
    let told: (params: unknown) => void = () => {};
    const cancelled = new Promise((resolve) => {
      told = resolve;
    });
    const answer = legacy((request, response) => {
      if (request.verb === "GET") response.writeHead(405).end();
      else gone.abort();
    });
    await using server = await rawServer((request, response) => {
      if (request.message.method === "notifications/cancelled") told(request.message.params);
      answer(request, response);
    });
    await using client = mcpClient(mcpHttpLink(server.url), self);
    const call = client.callTool("work", {}, { signal: gone.signal });
    await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    const made = server.seen.find(({ message }) => message.method === "tools/call");
    expect(await cancelled).toEqual({ requestId: made?.message.id });
  });

  test("a task is requested only from a server that has tasks", async () => {
    await using server = await rawServer(
      legacy((request, response) => {
        if (request.verb === "GET") response.writeHead(405).end();
        else result(response, request, { content: [] });
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    expect(await client.beginTool("work", {}, { task: {} })).toEqual({ content: [] });
    const call = server.seen.find(({ message }) => message.method === "tools/call");
    expect(call?.message.params).not.toHaveProperty("task");
  });

  test("an unknown revision is refused", async () => {
    await using server = await rawServer(legacy(() => {}, "2030-01-01"));
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.connect()).rejects.toThrow("2030-01-01");
  });

  test("a server that fails is not treated as a legacy server", async () => {
    await using server = await rawServer((_, response) => response.writeHead(503).end());
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.connect()).rejects.toMatchObject({ status: 503 });
    expect(server.seen).toHaveLength(1);
  });
});

describe("the modern era over HTTP", () => {
  test("a request names itself in headers", async () => {
    await using server = await rawServer(
      modern((request, response) => result(response, request, { contents: [] })),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await client.readResource("test://ü");
    expect(server.seen.at(-1)?.headers).toMatchObject({
      "mcp-protocol-version": "2026-07-28",
      "mcp-method": "resources/read",
      "mcp-name": "=?base64?dGVzdDovL8O8?=",
    });
    expect(server.seen.at(-1)?.headers).not.toHaveProperty("mcp-session-id");
  });

  test("a header that the server misses is looked up, and the call is repeated", async () => {
    const tools = [
      {
        name: "ask",
        inputSchema: {
          type: "object",
          properties: { region: { type: "string", "x-mcp-header": "Region" } },
        },
      },
      { name: "bad", inputSchema: { type: "object", "x-mcp-header": "A" } },
    ];
    await using server = await rawServer(
      modern((request, response) => {
        const { method, id } = request.message;
        if (method === "tools/list") result(response, request, { tools });
        else if (request.headers["mcp-param-region"] === "eu") {
          result(response, request, { content: [] });
        } else {
          const error = { code: -32020, message: "Header mismatch" };
          json(response, { jsonrpc: "2.0", id, error }, 400);
        }
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    expect(await client.callTool("ask", { region: "eu" })).toEqual({ content: [] });
    expect((await client.tools().all()).map(({ name }) => name)).toEqual(["ask"]);
  });

  test("results are kept for as long as the server allows", async () => {
    const clock = new FakeClock();
    await using server = await rawServer(
      modern((request, response) =>
        result(response, request, { contents: [], ttlMs: 1_000, cacheScope: "private" }),
      ),
    );
    await using client = mcpClient(mcpHttpLink(server.url), { ...self, clock });
    const reads = () =>
      server.seen.filter(({ message }) => message.method === "resources/read").length;
    await client.readResource("test://a");
    await client.readResource("test://a");
    expect(reads()).toBe(1);
    await client.readResource("test://b");
    expect(reads()).toBe(2);
    clock.advance(1_001);
    await client.readResource("test://a");
    expect(reads()).toBe(3);
  });

  /** A server whose lists may be cached for a minute. `list` answers them, and `tell` notifies listeners. */
  async function listingServer(list: (answer: () => void, count: number) => void) {
    let count = 0;
    let tell: (method: string, params?: object) => void = () => {};
    let cut: () => void = () => {};
    const server = await rawServer(
      modern((request, response) => {
        const { method, id } = request.message;
        if (method === "tools/list") {
          list(() => result(response, request, { tools: [], ttlMs: 60_000 }), ++count);
          return;
        }
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        tell = (name, params = {}) => {
          const message = { jsonrpc: "2.0", method: name, params: { ...params, _meta } };
          response.write(events(`data: ${JSON.stringify(message)}`));
        };
        cut = () => response.destroy();
        response.writeHead(200, eventHeaders);
        tell("notifications/subscriptions/acknowledged", { notifications: {} });
      }),
    );
    const changed = (): void => tell("notifications/tools/list_changed");
    return { server, changed, cut: () => cut(), count: () => count };
  }

  test("a result that was overtaken by a change notification is not kept", async () => {
    let answerFirst: () => void = () => {};
    const { server, changed, count } = await listingServer((answer, number) => {
      if (number > 1) answer();
      else {
        answerFirst = answer;
        changed();
      }
    });
    await using _server = server;
    await using client = mcpClient(mcpHttpLink(server.url), self);
    // The old list arrives after the notification that it has changed.
    await using _ = await client.subscribe({ tools: true }, () => answerFirst());
    await client.tools().all();
    await client.tools().all();
    expect(count()).toBe(2);
  });

  test("after a gap nothing is cached from before", async () => {
    const { server, cut, count } = await listingServer((answer) => answer());
    await using _server = server;
    const clock = new FakeClock();
    await using client = mcpClient(mcpHttpLink(server.url), { ...self, clock });
    let tell: (kind: string) => void = () => {};
    const heard = new Promise<string>((resolve) => {
      tell = resolve;
    });
    await using _ = await client.subscribe({ tools: true }, ({ kind }) => tell(kind));
    await client.tools().all();
    await client.tools().all();
    expect(count()).toBe(1);
    cut();
    expect(await whileTimePasses(clock, 100, heard)).toBe("gap");
    await client.tools().all();
    expect(count()).toBe(2);
  });

  test("structured content must match the output schema of the tool", async () => {
    const outputSchema = { type: "object", properties: { sum: { type: "number" } } };
    const tools = [{ name: "add", inputSchema: { type: "object" }, outputSchema }];
    await using server = await rawServer(
      modern((request, response) =>
        request.message.method === "tools/list"
          ? result(response, request, { tools })
          : result(response, request, { content: [], structuredContent: { sum: "5" } }),
      ),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await client.tools().all();
    await expect(client.callTool("add")).rejects.toThrow("sum must be number");
  });

  test("an unknown kind of result is an error", async () => {
    await using server = await rawServer(
      modern((request, response) => result(response, request, { resultType: "strange" })),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.callTool("work")).rejects.toThrow('unknown type "strange"');
  });

  test("so is one of a list or of a completion", async () => {
    await using server = await rawServer(
      modern((request, response) => {
        const lists = { tools: [], completion: { values: [] } };
        result(response, request, { resultType: "strange", ...lists });
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.tools().all()).rejects.toThrow('unknown type "strange"');
    const prompt = { type: "ref/prompt", name: "a" } as const;
    const completed = client.complete(prompt, { name: "b", value: "" });
    await expect(completed).rejects.toThrow('unknown type "strange"');
  });

  test("incomplete results are not cached", async () => {
    let asked = 0;
    await using server = await rawServer(
      modern((request, response) => {
        const { inputResponses } = request.message.params ?? {};
        asked++;
        if (inputResponses !== undefined) result(response, request, { contents: [] });
        else {
          const inputRequests = { a: { method: "roots/list", params: {} } };
          result(response, request, { resultType: "input_required", inputRequests, ttlMs: 60_000 });
        }
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), { ...self, roots: [] });
    for (let i = 0; i < 2; i++) {
      expect(await client.readResource("test://a")).toEqual({ contents: [] });
    }
    expect(asked).toBe(4);
  });

  test.each(["an answer", "a cancellation"])("a subscription ends with %s", async (ending) => {
    const meta = (id: unknown) => ({ "io.modelcontextprotocol/subscriptionId": id });
    let asked = 0;
    await using server = await rawServer(
      modern(({ message: { id } }, response) => {
        asked++;
        const say = (message: object): unknown =>
          response.write(events(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}`));
        response.writeHead(200, eventHeaders);
        const params = { notifications: { toolsListChanged: true }, _meta: meta(id) };
        say({ method: "notifications/subscriptions/acknowledged", params });
        if (ending === "an answer")
          say({ id, result: { resultType: "complete", _meta: meta(id) } });
        else say({ method: "notifications/cancelled", params: { requestId: id } });
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    const subscription = await client.subscribe({ tools: true }, () => {});
    expect(await subscription.closed).toBeUndefined();
    expect(asked).toBe(1);
  });

  test.each([[1e12], [-5], ["soon"]])(
    "a task whose server wants to be asked every %s ms is asked in reason",
    async (pollIntervalMs) => {
      const clock = new FakeClock();
      let asked = 0;
      await using server = await rawServer(
        modern((request, response) => {
          const { method } = request.message;
          const task = { taskId: "t", createdAt: "", lastUpdatedAt: "", ttlMs: null };
          const working = { ...task, status: "working", pollIntervalMs };
          if (method === "tools/call")
            result(response, request, { resultType: "task", ...working });
          else if (asked++ === 0) result(response, request, { resultType: "complete", ...working });
          else {
            const done = { ...task, status: "completed", result: { content: [] } };
            result(response, request, { resultType: "complete", ...done });
          }
        }),
      );
      await using client = mcpClient(mcpHttpLink(server.url), {
        ...self,
        clock,
        // Time passes in each turn of the loop, and the number of turns that an answer takes is
        // unknown.
        timeoutMs: Number.POSITIVE_INFINITY,
      });
      let over = false;
      const call = client.callTool("work").finally(() => {
        over = true;
      });
      let passedMs = 0;
      while (!over) {
        await new Promise((resolve) => setImmediate(resolve));
        if (asked === 0) continue;
        clock.advance(10);
        passedMs += 10;
      }
      expect(await call).toEqual({ content: [] });
      expect(passedMs).toBeGreaterThanOrEqual(20);
    },
  );

  test("the client stops repeating a request after 32 rounds", async () => {
    await using server = await rawServer(
      modern((request, response) =>
        result(response, request, { resultType: "input_required", requestState: "again" }),
      ),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.callTool("work")).rejects.toMatchObject({ code: "TOO_LARGE" });
  });

  test("what this client does not offer is not answered", async () => {
    const inputRequests = { a: { method: "sampling/createMessage", params: {} } };
    await using server = await rawServer(
      modern((request, response) =>
        result(response, request, { resultType: "input_required", inputRequests }),
      ),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    await expect(client.callTool("work")).rejects.toMatchObject({ code: -32601 });
  });

  test("pages are followed until there is no cursor, or the same one again", async () => {
    const cursors: unknown[] = [];
    await using server = await rawServer(
      modern((request, response) => {
        const { cursor } = request.message.params as { cursor?: string };
        cursors.push(cursor);
        const resource = { uri: `test://${cursor}`, name: "a" };
        result(response, request, { resources: [resource], nextCursor: "two" });
      }),
    );
    await using client = mcpClient(mcpHttpLink(server.url), self);
    expect(await client.resources().all()).toHaveLength(2);
    expect(cursors).toEqual([undefined, "two"]);
  });
});

test("a request waits for the greeting no longer than it may, and leaves it to the others", async () => {
  const answer = modern((request, response) => result(response, request, { content: [] }));
  let greet: (() => void) | undefined;
  let hear: () => void = () => {};
  const heard = new Promise<void>((resolve) => {
    hear = resolve;
  });
  await using server = await rawServer((request, response) => {
    if (greet !== undefined) answer(request, response);
    greet ??= () => answer(request, response);
    hear();
  });
  const clock = new FakeClock();
  await using client = mcpClient(mcpHttpLink(server.url), { ...self, clock });
  const controller = new AbortController();
  const { signal } = controller;
  const patient = client.callTool("x");
  const cancelled = [client.callTool("x", {}, { signal }), client.ping({ signal })];
  const late = [client.callTool("x", {}, { timeoutMs: 5 }), client.tools({ timeoutMs: 5 }).all()];
  controller.abort();
  for (const each of cancelled) await expect(each).rejects.toMatchObject({ code: "ABORTED" });
  await heard;
  clock.advance(5);
  for (const each of late) await expect(each).rejects.toMatchObject({ code: "TIMEOUT" });
  await expect(client.callTool("x", {}, { timeoutMs: -1 })).rejects.toThrow("timeoutMs");
  greet?.();
  expect(await patient).toEqual({ content: [] });
});
