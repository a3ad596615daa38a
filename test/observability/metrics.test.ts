import { readFile } from "node:fs/promises";
import {
  type Clock,
  createClient,
  createServer,
  RpcError,
  silentLog,
  stream,
  topic,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { mcpServer } from "callwire/mcp";
import { createMetrics, logging, type Metrics, metricsPage } from "callwire/observability";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import { RecordingLog, requestText } from "../server/asking.ts";
import { deferred } from "../transports/contract/wire.ts";
import { samplesOf } from "./scrape.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  later: async (value: unknown) => value,
  fail: () => {
    throw new RpcError(1001, "Too long");
  },
  limited: () => {
    throw new RpcError(-32010, "Too many calls", undefined, { status: 429 });
  },
};

function sampled(metrics: Metrics): Map<string, number> {
  return samplesOf(metrics.text().body);
}

describe("calls", () => {
  test("are counted by method and transport, with errors by code", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { use: [metrics.middleware] });
    for (let i = 0; i < 3; i++) void server.receive(requestText("add", [1, 2]));
    await server.receive(`[${requestText("later", [1])},${requestText("fail")}]`);
    void server.receive("{");
    const seen = sampled(metrics);
    expect(seen.get('callwire_calls_total{method="add",transport="direct"}')).toBe(3);
    expect(seen.get('callwire_calls_total{method="later",transport="direct"}')).toBe(1);
    expect(seen.get('callwire_errors_total{method="fail",transport="direct",code="1001"}')).toBe(1);
    expect(
      seen.get('callwire_errors_total{method="(none)",transport="direct",code="-32700"}'),
    ).toBe(1);
    const histogram =
      'callwire_call_duration_seconds_bucket{method="add",transport="direct",le="+Inf"}';
    expect(seen.get(histogram)).toBe(3);
    expect(seen.get('callwire_request_size_characters_count{transport="direct"}')).toBe(6);
  });

  test("a synchronous call stays synchronous", () => {
    const server = createServer(methods, { use: [createMetrics().middleware] });
    expect(typeof server.receive(requestText("add", [2, 3]))).toBe("string");
  });

  test("names that callers make up share one label", () => {
    const metrics = createMetrics();
    const refuseAll = () => () => ({ result: undefined, error: { code: -32001, message: "No" } });
    const server = createServer(methods, { use: [metrics.middleware, refuseAll] });
    for (let i = 0; i < 1000; i++) void server.receive(requestText(`made-up-${i}`));
    const text = metrics.text().body;
    expect(text).not.toContain("made-up");
    expect(
      sampled(metrics).get('callwire_calls_total{method="(unknown)",transport="direct"}'),
    ).toBe(1000);
  });

  test("more methods than allowed share one label, and so do codes", () => {
    const metrics = createMetrics({ maxMethods: 2 });
    const server = createServer(
      Object.fromEntries(
        Array.from({ length: 5 }, (_, i) => [
          `m${i}`,
          () => {
            throw new RpcError(2000 + Math.floor(Math.random() * 1e6), "any");
          },
        ]),
      ),
      { use: [metrics.middleware] },
    );
    for (let i = 0; i < 500; i++) void server.receive(requestText(`m${i % 5}`));
    const seen = sampled(metrics);
    expect(seen.get('callwire_calls_total{method="(other)",transport="direct"}')).toBe(300);
    const codes = [...seen.keys()].filter((name) => name.startsWith("callwire_errors_total"));
    expect(codes.length).toBeLessThanOrEqual(3 * 51);
  });

  test("those refused for their number and those shed are counted apart", async () => {
    const metrics = createMetrics();
    const gate = deferred();
    const server = createServer(
      { ...methods, wait: () => gate.promise },
      { use: [metrics.middleware], maxRunning: 1 },
    );
    const waiting = server.receive(requestText("wait"));
    void server.receive(requestText("add", [1, 2]));
    expect(sampled(metrics).get("callwire_calls_in_flight")).toBe(1);
    gate.resolve();
    await waiting;
    void server.receive(requestText("limited"));
    const seen = sampled(metrics);
    expect(seen.get("callwire_calls_in_flight")).toBe(0);
    expect(seen.get("callwire_shed_total")).toBe(1);
    expect(seen.get("callwire_rate_limited_total")).toBe(1);
  });

  test("entries of a batch that wait for others are a queue", async () => {
    const metrics = createMetrics();
    const gate = deferred();
    const server = createServer(
      { wait: () => gate.promise },
      { use: [metrics.middleware], limits: { maxBatchConcurrency: 2 } },
    );
    const answer = server.receive(`[${Array(5).fill(requestText("wait")).join(",")}]`);
    await Promise.resolve();
    expect(sampled(metrics).get('callwire_queue_depth{queue="batch"}')).toBe(3);
    gate.resolve();
    await answer;
    expect(sampled(metrics).get('callwire_queue_depth{queue="batch"}')).toBe(0);
  });

  test("a method that an agent calls as a tool counts as answered", async () => {
    const metrics = createMetrics();
    const log = new RecordingLog();
    const server = createServer(methods, { use: [metrics.middleware, logging({ log })] });
    const agents = mcpServer(server, { name: "sums", version: "1" });
    await agents.receive(requestText("tools/call", { name: "later", arguments: { value: 1 } }));
    const seen = sampled(metrics);
    expect(seen.get('callwire_calls_total{method="later",transport="direct"}')).toBe(1);
    expect([...seen.keys()].join()).not.toContain("outbound");
    expect(log.entries).toMatchObject([{ fields: { side: "in", method: "later", outcome: "ok" } }]);
  });

  test("a client counts its calls, and failures of the connection", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { log: silentLog });
    const http = await serveHttp(server, { port: 0 });
    const client = createClient<typeof methods>(httpLink(http.url), { use: [metrics.middleware] });
    await client.batch((b) => [b.add(1, 2), b.add(3, 4)]);
    await expect(client.api.fail()).rejects.toThrow();
    await client.close();
    await expect(client.api.add(1, 2)).rejects.toThrow();
    await server.close();
    const seen = sampled(metrics);
    expect(seen.get('callwire_client_calls_total{method="add",transport="outbound"}')).toBe(3);
    expect(
      seen.get('callwire_client_errors_total{method="fail",transport="outbound",code="1001"}'),
    ).toBe(1);
    expect(
      seen.get('callwire_client_errors_total{method="add",transport="outbound",code="CLOSED"}'),
    ).toBe(1);
    expect(seen.get("callwire_client_calls_in_flight")).toBe(0);
  });
});

describe("wires", () => {
  test("connections are counted while they are open, by transport", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { use: [metrics.middleware] });
    const http = await serveHttp(server, { port: 0 });
    const socket = await serveSocket(server, { port: 0 });
    const links = [
      httpLink(http.url),
      webSocketLink(http.url.replace("http", "ws")),
      tcpLink(`tcp://127.0.0.1:${socket.port}`),
    ];
    for (const link of links) await createClient<typeof methods>(link).api.add(1, 2);
    const connections = (): (number | undefined)[] => {
      const seen = sampled(metrics);
      return ["http", "websocket", "tcp"].map((kind) =>
        seen.get(`callwire_connections{transport="${kind}"}`),
      );
    };
    expect(connections()).toEqual([1, 1, 1]);
    for (const link of links) await link.close();
    await server.close();
    expect(connections()).toEqual([0, 0, 0]);
  });

  test("requests that are refused by their head are counted by status", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { use: [metrics.middleware] });
    const http = await serveHttp(server, { port: 0 });
    await fetch(http.url, { method: "POST", body: "x", headers: { "content-type": "text/plain" } });
    await fetch(http.url, {
      method: "POST",
      body: "x".repeat(2 * 1024 * 1024),
      headers: { "content-type": "application/json" },
    }).catch(() => {});
    await server.close();
    const seen = sampled(metrics);
    expect(seen.get('callwire_refused_requests_total{status="415"}')).toBe(1);
    expect(seen.get('callwire_refused_requests_total{status="413"}')).toBe(1);
  });

  test("what is not a message is counted on a connection too", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { use: [metrics.middleware] });
    const http = await serveHttp(server, { port: 0 });
    const ws = new WebSocket(http.url.replace("http", "ws"));
    await new Promise((resolve) => ws.addEventListener("open", resolve));
    const answered = new Promise((resolve) => ws.addEventListener("message", resolve));
    ws.send("no json");
    await answered;
    ws.close();
    await server.close();
    const name = 'callwire_errors_total{method="(none)",transport="websocket",code="-32700"}';
    expect(sampled(metrics).get(name)).toBe(1);
  });

  test("streams, their items, and subscriptions to topics", async () => {
    const metrics = createMetrics();
    const prices = topic<number>();
    metrics.topic("prices", prices);
    const server = createServer(
      { prices: stream({}, (_, call) => prices.subscribe(call)) },
      { use: [metrics.middleware] },
    );
    const http = await serveHttp(server, { port: 0 });
    const client = createClient(webSocketLink(http.url.replace("http", "ws")));
    const items = client.stream<number>("prices")[Symbol.asyncIterator]();
    const first = items.next();
    await expect.poll(() => prices.size, { interval: 1 }).toBe(1);
    prices.publish(1);
    prices.publish(2);
    expect(sampled(metrics).get('callwire_queue_depth{queue="topic prices"}')).toBe(2);
    expect(await first).toEqual({ done: false, value: 1 });
    expect((await items.next()).value).toBe(2);
    const seen = sampled(metrics);
    expect(seen.get("callwire_streams")).toBe(1);
    expect(seen.get("callwire_stream_items_total")).toBe(2);
    expect(seen.get('callwire_subscriptions{topic="prices"}')).toBe(1);
    await items.return?.();
    await expect.poll(() => sampled(metrics).get("callwire_streams"), { interval: 1 }).toBe(0);
    expect(sampled(metrics).get('callwire_subscriptions{topic="prices"}')).toBe(0);
    await client.close();
    await server.close();
  });

  test("a link that heals counts how often", async () => {
    const metrics = createMetrics();
    const server = createServer(methods);
    const socket = await serveSocket(server, { port: 0 });
    const healed = deferred();
    let connects = 0;
    const link = tcpLink(`tcp://127.0.0.1:${socket.port}`, {
      reconnect: metrics.reconnects("billing", {
        onConnect: () => {
          if (++connects === 2) healed.resolve();
        },
      }),
    });
    const client = createClient<typeof methods>(link);
    await client.api.add(1, 2);
    expect(sampled(metrics).get('callwire_reconnects_total{link="billing"}')).toBe(0);
    for (const connection of socket.connections) void connection.close();
    await healed.promise;
    expect(await client.api.add(1, 2)).toBe(3);
    expect(sampled(metrics).get('callwire_reconnects_total{link="billing"}')).toBe(1);
    await client.close();
    await server.close();
  });
});

describe("the page", () => {
  test("is Prometheus text, and OpenMetrics for clients that accept it", async () => {
    const metrics = createMetrics();
    const server = createServer(methods, { use: [metrics.middleware] });
    const http = await serveHttp(server, { port: 0, mounts: { "/metrics": metricsPage(metrics) } });
    await createClient<typeof methods>(httpLink(http.url)).api.add(1, 2);
    const url = new URL("/metrics", http.url);
    const plain = await fetch(url);
    expect(plain.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await plain.text();
    expect(text).toContain("# TYPE callwire_calls_total counter\n");
    expect(text).toContain('callwire_calls_total{method="add",transport="http"} 1\n');
    const open = await fetch(url, {
      headers: { accept: "application/openmetrics-text;version=1.0.0" },
    });
    expect(open.headers.get("content-type")).toMatch(
      /^application\/openmetrics-text; version=1\.0\.0/,
    );
    const body = await open.text();
    expect(body).toContain("# TYPE callwire_calls counter\n");
    expect(body.endsWith("# EOF\n")).toBe(true);
    expect((await fetch(url, { method: "POST" })).status).toBe(405);
    expect(await (await fetch(url, { method: "HEAD" })).text()).toBe("");
    await server.close();
  });

  test("labels are escaped, and a prefix may be chosen", () => {
    const metrics = createMetrics({ prefix: "shop" });
    const server = createServer({ 'a"b\\c\nd': () => 1 }, { use: [metrics.middleware] });
    void server.receive(requestText('a"b\\c\nd'));
    expect(metrics.text().body).toContain(
      'shop_calls_total{method="a\\"b\\\\c\\nd",transport="direct"} 1\n',
    );
  });

  test("the longest delay of the event loop since the last scrape", () => {
    let now = 0;
    let due = (): void => {};
    const clock: Clock = {
      now: () => 0,
      elapsed: () => now,
      after(_, run) {
        due = run;
        return { cancel() {} };
      },
    };
    const metrics = createMetrics({ clock });
    createServer(methods, { use: [metrics.middleware] });
    for (const ms of [500, 750, 510]) {
      now += ms;
      due();
    }
    expect(sampled(metrics).get("callwire_event_loop_lag_seconds")).toBe(0.25);
    expect(sampled(metrics).get("callwire_event_loop_lag_seconds")).toBe(0);
    metrics.close();
  });
});

test("the version of the package and what the process uses are metrics", async () => {
  const { version } = JSON.parse(
    await readFile(new URL("../../package.json", import.meta.url), "utf8"),
  );
  const metrics = createMetrics();
  const { body: text } = metrics.text();
  expect(text).toContain(`callwire_build_info{version="${version}"} 1`);
  for (const name of ["process_cpu_seconds_total", "process_resident_memory_bytes"]) {
    const [, value] = new RegExp(`^${name} (.+)$`, "m").exec(text) ?? [];
    expect(Number(value)).toBeGreaterThan(0);
  }
});

test("durations have the buckets of the conventions, so that percentiles are as close as others'", async () => {
  const metrics = createMetrics();
  const server = createServer({ ping: () => 1 }, { use: [metrics.middleware] });
  await server.receive('{"jsonrpc":"2.0","method":"ping","id":1}');
  const bounds = Array.from(
    metrics.text().body.matchAll(/^callwire_call_duration_seconds_bucket\{.*le="([\d.]+)"/gm),
    ([, bound]) => Number(bound),
  );
  const standard = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
  expect(bounds.filter((bound) => bound >= 0.005)).toEqual(standard);
});
