import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer, text, tool } from "callwire/mcp";
import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { type Answer, legacy, modern, type RawRequest, rawServer, result } from "./raw-server.ts";

const self = { name: "test", version: "1.0.0", log: silentLog };
const done = { content: [] };

/** Answers calls only when the test says so. */
class Held {
  readonly open: [RawRequest, ServerResponse][] = [];
  readonly #arrivals: (() => void)[] = [];

  readonly answer: Answer = (request, response) => {
    if (request.verb === "GET") response.writeHead(405).end();
    else if (request.message.method === "ping") result(response, request, {});
    else {
      this.open.push([request, response]);
      this.#arrivals.shift()?.();
    }
  };

  arrival(): Promise<void> {
    return new Promise((resolve) => this.#arrivals.push(resolve));
  }

  release(): void {
    for (const [request, response] of this.open.splice(0)) result(response, request, done);
  }
}

function named({ seen }: { seen: readonly RawRequest[] }, method: string): unknown[] {
  return seen
    .filter(({ message }) => message.method === method)
    .map(({ message }) => message.params?.name);
}

test("of many calls 256 are on their way at a time, and all are answered", async () => {
  const sockets = new Set<Socket>();
  const open: [RawRequest, ServerResponse][] = [];
  let [most, mostSockets] = [0, 0];
  await using server = await rawServer(
    modern((request, response) => {
      const socket = response.socket as Socket;
      if (!sockets.has(socket)) socket.once("close", () => sockets.delete(socket));
      mostSockets = Math.max(mostSockets, sockets.add(socket).size);
      most = Math.max(most, open.push([request, response]));
      // No call is answered before as many as allowed have arrived.
      if (server.seen.length < 257) return;
      for (const [held, to] of open.splice(0)) result(to, held, done);
    }),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await client.connect();
  const calls = Array.from({ length: 900 }, () => client.callTool("work"));
  await Promise.all(calls);
  expect(most).toBe(256);
  expect(mostSockets).toBeLessThanOrEqual(257);
  expect(named(server, "tools/call")).toHaveLength(900);
});

describe.each([
  ["modern", modern],
  ["legacy", legacy],
] as const)("%s: a call that waits its turn", (era, speaking) => {
  test("is not sent if it was cancelled or timed out, and the next one is", async () => {
    const held = new Held();
    await using server = await rawServer(speaking(held.answer));
    const clock = new FakeClock();
    await using client = mcpClient(mcpHttpLink(server.url, { maxInFlight: 1 }), {
      ...self,
      era,
      clock,
      timeoutMs: Number.POSITIVE_INFINITY,
    });
    await client.connect();
    const arrived = held.arrival();
    const first = client.callTool("first");
    await arrived;
    const gone = new AbortController();
    const aborted = client.callTool("aborted", {}, { signal: gone.signal });
    const late = client.callTool("late", {}, { timeoutMs: 1_000 });
    const next = client.callTool("next");
    // It needs no turn; when it is answered, the other calls are waiting for theirs.
    await client.request("ping");
    gone.abort();
    await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
    clock.advance(2_000);
    await expect(late).rejects.toMatchObject({ code: "TIMEOUT" });
    const follower = held.arrival();
    held.release();
    await expect(first).resolves.toMatchObject(done);
    await follower;
    held.release();
    await expect(next).resolves.toMatchObject(done);
    expect(named(server, "tools/call")).toEqual(["first", "next"]);
    // The server gets no cancel for a call that was never sent.
    expect(named(server, "notifications/cancelled")).toEqual([]);
  });

  test("is settled when the client closes, and never sent", async () => {
    const held = new Held();
    await using server = await rawServer(speaking(held.answer));
    const client = mcpClient(mcpHttpLink(server.url, { maxInFlight: 1 }), { ...self, era });
    await client.connect();
    const arrived = held.arrival();
    const calls = ["first", "second", "third"].map((name) => client.callTool(name));
    const settled = Promise.allSettled(calls);
    await arrived;
    await client.close();
    const closed = { status: "rejected", reason: { code: "CLOSED" } };
    expect(await settled).toMatchObject([closed, closed, closed]);
    expect(named(server, "tools/call")).toEqual(["first"]);
  });
});

test("what a running call waits for does not wait for it", async () => {
  let stopped: () => void = () => {};
  const isStopped = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  let begun: () => void = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const input = z.object({});
  const agents = mcpServer(
    {
      ask: tool({ description: "Ask", input }, async (_, call) => {
        const { content } = await call.elicit("Sure?", z.object({ sure: z.boolean() }));
        return [text(String(content?.sure))];
      }),
      endless: tool({ description: "Never ends", input }, async (_, call) => {
        begun();
        await new Promise<void>((resolve) => {
          call.signal.addEventListener("abort", () => resolve());
        });
        stopped();
        return [];
      }),
    },
    self,
  );
  await using http = await serveHttp(createServer({}), { port: 0, mounts: mcpMounts(agents) });
  const url = new URL("/mcp", http.url).href;
  for (const era of ["legacy", "modern"] as const) {
    await using client = mcpClient(mcpHttpLink(url, { maxInFlight: 1 }), {
      ...self,
      era,
      elicitForm: async () => ({ action: "accept", content: { sure: true } }),
    });
    expect((await client.callTool("ask")).content).toEqual([text("true")]);
  }
  await using client = mcpClient(mcpHttpLink(url, { maxInFlight: 1 }), { ...self, era: "modern" });
  const gone = new AbortController();
  const endless = client.callTool("endless", {}, { signal: gone.signal });
  await hasBegun;
  let hear: (kind: string) => void = () => {};
  const heard = new Promise<string>((resolve) => {
    hear = resolve;
  });
  // The only turn is taken, and the subscription still opens.
  await client.subscribe({ tools: true }, ({ kind }) => hear(kind));
  agents.catalog.addMethods({ another: () => 1 });
  expect(await heard).toBe("tools");
  gone.abort();
  await expect(endless).rejects.toMatchObject({ code: "ABORTED" });
  await isStopped;
});

test("the stream of the server is requested before the first call is sent", async () => {
  // Some servers ask questions on that stream, and those asked before it is open are lost.
  await using server = await rawServer(
    legacy((request, response) => {
      if (request.verb === "GET") response.writeHead(405).end();
      else result(response, request, done);
    }),
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  await client.callTool("work");
  expect(server.seen.map(({ verb, message }) => message.method ?? verb)).toEqual([
    "server/discover",
    "initialize",
    "notifications/initialized",
    "GET",
    "tools/call",
  ]);
});

test("a call whose turn comes while a lost session is restarted is sent in the new one", async () => {
  const agents = mcpServer({ add: ({ a, b }: { a: number; b: number }) => a + b }, self);
  const mounts = mcpMounts(agents, { sessions: { max: 1 } });
  await using http = await serveHttp(createServer({}), { port: 0, mounts });
  const url = new URL("/mcp", http.url);
  const legacyClient = () =>
    mcpClient(mcpHttpLink(url, { maxInFlight: 1, serverStream: false }), {
      ...self,
      era: "legacy",
    });
  await using client = legacyClient();
  await client.connect();
  // There is room for one session, and no stream is open in the first, so this ends it.
  await using other = legacyClient();
  await other.connect();
  const sums = [1, 2, 3, 4, 5].map((a) => client.callTool("add", { a, b: 1 }));
  expect((await Promise.all(sums)).map(({ content }) => content)).toEqual(
    ["2", "3", "4", "5", "6"].map((sum) => [text(sum)]),
  );
});

test("the transport of 2024-11-05 needs no more than one turn", async () => {
  const agents = mcpServer({ add: ({ a, b }: { a: number; b: number }) => a + b }, self);
  const mounts = mcpMounts(agents, { httpSsePath: "/sse" });
  await using http = await serveHttp(createServer({}), { port: 0, mounts });
  const link = mcpHttpLink(new URL("/sse", http.url), { maxInFlight: 1 });
  await using client = mcpClient(link, self);
  const sums = [1, 2, 3].map((a) => client.callTool("add", { a, b: 1 }));
  expect((await Promise.all(sums)).map(({ content }) => content)).toEqual([
    [text("2")],
    [text("3")],
    [text("4")],
  ]);
});

test("a running call of the legacy era that is cancelled is reported to the server at once", async () => {
  const held = new Held();
  const hand = legacy(held.answer);
  let told: (params: unknown) => void = () => {};
  const cancelled = new Promise((resolve) => {
    told = resolve;
  });
  await using server = await rawServer((request, response) => {
    if (request.message.method === "notifications/cancelled") told(request.message.params);
    hand(request, response);
  });
  await using client = mcpClient(mcpHttpLink(server.url, { maxInFlight: 1 }), self);
  const gone = new AbortController();
  const arrived = held.arrival();
  const call = client.callTool("work", {}, { signal: gone.signal });
  await arrived;
  const [[request]] = held.open as [[RawRequest, ServerResponse]];
  gone.abort();
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
  expect(await cancelled).toMatchObject({ requestId: request.message.id });
});

test.each([0, -1, 1.5, Number.NaN])("a bound of %s is refused", (maxInFlight) => {
  const link = mcpHttpLink("http://127.0.0.1:1/mcp", { maxInFlight });
  expect(() => mcpClient(link, self)).toThrow(/^"maxInFlight" must be an integer of at least 1/);
});

test("more than a hundred questions at once fail the call, and nobody is asked", async () => {
  const question = { method: "elicitation/create", params: { message: "?", requestedSchema: {} } };
  await using server = await rawServer(
    modern((request, response) =>
      result(response, request, {
        resultType: "input_required",
        inputRequests: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, question])),
      }),
    ),
  );
  let asked = 0;
  await using client = mcpClient(mcpHttpLink(server.url), {
    ...self,
    elicitForm: () => {
      asked++;
      return { action: "decline" };
    },
  });
  await expect(client.callTool("ask", {})).rejects.toMatchObject({ code: "TOO_LARGE" });
  expect(asked).toBe(0);
});
