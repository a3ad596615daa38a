import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import {
  context,
  metrics as otelMetrics,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter as JsonExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { OTLPTraceExporter as ProtobufExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  BatchSpanProcessor,
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import {
  batching,
  createClient,
  createServer,
  directLink,
  type Link,
  type Middleware,
  method,
  RpcError,
  silentLog,
  stream,
} from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { mcpServer } from "callwire/mcp";
import { natsLink, serveNats } from "callwire/nats";
import { createMetrics, logging } from "callwire/observability";
import { metering, type TracingOptions, tracing } from "callwire/observability/otel";
import { sseLink } from "callwire/sse";
import { tcpLink, unixLink } from "callwire/tcp";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { root } from "../entries.ts";
import { RecordingLog, requestText } from "../server/asking.ts";
import { describeWith } from "../services.ts";
import { TestNats } from "../transports/nats/test-nats.ts";
import { OtlpReceiver } from "./otlp-receiver.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  later: async (value: unknown) => value,
  fail: () => {
    throw new RpcError(1001, "Too long");
  },
  never: () => new Promise(() => {}),
  count: stream({}, async function* () {
    yield 1;
    yield 2;
    yield 3;
  }),
};

// Made for each test, not when the file is loaded: the packages may be missing.
let exporter: InMemorySpanExporter;
let tracerProvider: BasicTracerProvider;

function spans(): ReadableSpan[] {
  return exporter.getFinishedSpans();
}

function named(name: string, kind: SpanKind): ReadableSpan {
  const found = spans().find((span) => span.name === name && span.kind === kind);
  if (found === undefined) throw new Error(`no ${SpanKind[kind]} span ${name}`);
  return found;
}

function parentOf(span: ReadableSpan): string | undefined {
  return span.parentSpanContext?.spanId;
}

function traced(options: TracingOptions = {}): ReturnType<typeof createServer<typeof methods>> {
  const use = [tracing({ tracerProvider, ...options })];
  return createServer(methods, { use, log: silentLog });
}

describeWith(["npm peers", "nats-server"], "OpenTelemetry", () => {
  beforeEach(() => {
    exporter = new InMemorySpanExporter();
    tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    // As programs do it: context and propagation are global, and each server may have its own
    // provider.
    new NodeTracerProvider().register();
  });

  afterEach(() => {
    context.disable();
    propagation.disable();
    trace.disable();
    otelMetrics.disable();
  });

  describe("spans", () => {
    test("have names and attributes of the current conventions", () => {
      void traced().receive(requestText("add", [2, 3], { id: "seven" }));
      const [span] = spans() as [ReadableSpan];
      expect(span).toMatchObject({
        name: "add",
        kind: SpanKind.SERVER,
        status: { code: SpanStatusCode.UNSET },
      });
      expect(span.attributes).toEqual({
        "rpc.system.name": "jsonrpc",
        "rpc.method": "add",
        "jsonrpc.protocol.version": "2.0",
        "jsonrpc.request.id": "seven",
        "callwire.transport": "direct",
      });
    });

    test("have the older names by option, or both", () => {
      void traced({ conventions: "old" }).receive(requestText("fail"));
      void traced({ conventions: "both" }).receive(requestText("fail"));
      const [old, both] = spans() as [ReadableSpan, ReadableSpan];
      const before = {
        "rpc.system": "jsonrpc",
        "rpc.method": "fail",
        "rpc.jsonrpc.version": "2.0",
        "rpc.jsonrpc.request_id": "1",
        "rpc.jsonrpc.error_code": 1001,
        "rpc.jsonrpc.error_message": "Too long",
        "error.type": "1001",
        "callwire.transport": "direct",
      };
      expect(old.attributes).toEqual(before);
      expect(both.attributes).toEqual({
        ...before,
        "rpc.system.name": "jsonrpc",
        "jsonrpc.protocol.version": "2.0",
        "jsonrpc.request.id": "1",
        "rpc.status_code": "1001",
      });
    });

    test("report errors by their code", async () => {
      const server = traced();
      await server.receive(requestText("fail"));
      await server.receive(requestText("never", [], { timeoutMs: 1 }));
      await server.receive(requestText("later", ["x"]));
      expect(
        spans().map(({ attributes, status }) => [attributes["rpc.status_code"], status]),
      ).toEqual([
        ["1001", { code: SpanStatusCode.ERROR, message: "Too long" }],
        ["-32003", { code: SpanStatusCode.ERROR, message: "Request timeout" }],
        [undefined, { code: SpanStatusCode.UNSET }],
      ]);
    });

    test("of unknown methods share a name", () => {
      void traced().receive(requestText("made/up"));
      const [{ name, attributes }] = spans() as [ReadableSpan];
      expect(name).toBe("jsonrpc");
      expect(attributes).toMatchObject({
        "rpc.method": "_OTHER",
        "rpc.method_original": "made/up",
        "rpc.status_code": "-32601",
      });
    });

    test("a synchronous call stays synchronous", () => {
      expect(typeof traced().receive(requestText("add", [2, 3]))).toBe("string");
    });

    test("baggage reaches the handler over HTTP and WebSocket, and spans name what made them", async () => {
      const told = () => propagation.getActiveBaggage()?.getEntry("user.id")?.value ?? "none";
      const server = createServer({ told }, { use: [tracing({ tracerProvider })] });
      const http = await serveHttp(server, { port: 0 });
      const entries = propagation.createBaggage({ "user.id": { value: "ada" } });
      for (const link of [httpLink(http.url), webSocketLink(http.url.replace("http", "ws"))]) {
        const client = createClient(link, { use: [tracing({ tracerProvider })] });
        const called = context.with(propagation.setBaggage(context.active(), entries), () =>
          client.call("told"),
        );
        expect(await called).toBe("ada");
        await client.close();
      }
      expect(named("told", SpanKind.SERVER).instrumentationScope).toMatchObject({
        name: "callwire",
        version: expect.stringMatching(/^\d+\.\d+\.\d+$/),
        schemaUrl: expect.stringContaining("opentelemetry.io/schemas/"),
      });
      await server.close();
    });

    test("each entry of a batch has one, and they share the caller's trace", async () => {
      const server = traced();
      const http = await serveHttp(server, { port: 0 });
      const client = createClient<typeof methods>(httpLink(http.url), {
        use: [tracing({ tracerProvider })],
      });
      const tracer = tracerProvider.getTracer("test");
      await tracer.startActiveSpan("work", async (span) => {
        await client.batch((b) => [b.add(1, 2), b.later("x")]);
        span.end();
      });
      for (const name of ["add", "later"]) {
        const sent = named(name, SpanKind.CLIENT);
        expect(parentOf(named(name, SpanKind.SERVER))).toBe(sent.spanContext().spanId);
        expect(parentOf(sent)).toBe(named("work", SpanKind.INTERNAL).spanContext().spanId);
      }
      await client.close();
      await server.close();
    });

    test("a stream is one, with an event for each item, on both sides", async () => {
      const server = traced({ maxItemEvents: 2 });
      const http = await serveHttp(server, { port: 0 });
      const client = createClient<typeof methods>(webSocketLink(http.url.replace("http", "ws")), {
        use: [tracing({ tracerProvider })],
      });
      const items: unknown[] = [];
      for await (const item of client.stream("count")) items.push(item);
      expect(items).toEqual([1, 2, 3]);
      await client.close();
      await server.close();
      const eventsOf = (kind: SpanKind): unknown[] =>
        named("count", kind).events.map(({ name, attributes }) => [name, attributes]);
      const event = (type: string, id: number): unknown => [
        "callwire.item",
        { "callwire.item.type": type, "callwire.item.id": id },
      ];
      expect(eventsOf(SpanKind.SERVER)).toEqual([event("SENT", 1), event("SENT", 2)]);
      expect(eventsOf(SpanKind.CLIENT)).toEqual([1, 2, 3].map((id) => event("RECEIVED", id)));
    });

    test.each([
      ["https://api.example/rpc", "api.example", 443, httpLink],
      ["http://[::1]:8080/rpc", "::1", 8080, httpLink],
      ["http://api.example:81/rpc", "api.example", 81, sseLink],
      ["wss://api.example/ws", "api.example", 443, webSocketLink],
      ["tcp://[::1]:9000", "::1", 9000, tcpLink],
      ["/run/rpc.sock", "/run/rpc.sock", undefined, unixLink],
    ])("of clients name the server: %s", async (url, address, port, link: (to: string) => Link) => {
      const wire = link(url);
      await wire.close();
      for (const each of [wire, batching(wire)]) {
        const use = [tracing({ tracerProvider })];
        await createClient(each, { use })
          .call("add")
          .catch(() => {});
        const { attributes } = named("add", SpanKind.CLIENT);
        expect(attributes["server.address"]).toBe(address);
        expect(attributes["server.port"]).toBe(port);
        exporter.reset();
      }
    });

    test("of clients have only the names of a list, if one is given", async () => {
      const use = [tracing({ tracerProvider, methods: ["add"] })];
      const client = createClient(directLink(createServer(methods)), { use });
      await client.call("add", [1, 2]);
      await client.call("later", ["x"]);
      expect(spans().map(({ name, attributes }) => [name, attributes["rpc.method"]])).toEqual([
        ["add", "add"],
        ["jsonrpc", "_OTHER"],
      ]);
    });

    test("a call that never left is a failed span", async () => {
      const client = createClient(httpLink("http://127.0.0.1:1/"), {
        use: [tracing({ tracerProvider })],
      });
      await expect(client.call("add", [1, 2])).rejects.toThrow();
      await client.close();
      expect(named("add", SpanKind.CLIENT)).toMatchObject({
        attributes: { "error.type": "CONNECTION_FAILED" },
        status: { code: SpanStatusCode.ERROR },
      });
    });
  });

  describe("the trace continues", () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

    test("from the headers of HTTP", async () => {
      const server = traced();
      const http = await serveHttp(server, { port: 0 });
      await fetch(http.url, {
        method: "POST",
        headers: { "content-type": "application/json", traceparent, tracestate: "vendor=1" },
        body: requestText("add", [1, 2]),
      });
      await server.close();
      const span = named("add", SpanKind.SERVER);
      expect(span.spanContext().traceId).toBe(traceId);
      expect(span.spanContext().traceState?.get("vendor")).toBe("1");
      expect(span.attributes).toMatchObject({
        "network.peer.address": "127.0.0.1",
        "network.peer.port": expect.any(Number),
      });
    });

    test("through the headers of NATS", async () => {
      const testNats = await TestNats.start();
      const server = traced();
      await serveNats(server, await testNats.connect(), { subject: "test", queue: "workers" });
      const client = createClient(natsLink(await testNats.connect(), { subject: "test" }), {
        use: [tracing({ tracerProvider })],
      });
      await client.call("add", [1, 2]);
      await server.close();
      const [asked, answered] = [named("add", SpanKind.CLIENT), named("add", SpanKind.SERVER)];
      expect(parentOf(answered)).toBe(asked.spanContext().spanId);
    });

    test("from the envelope, and from _meta of the params", () => {
      const server = traced();
      void server.receive(requestText("add", [1, 2], { traceparent }));
      void server.receive(requestText("later", { _meta: { traceparent } }));
      void server.receive(requestText("add", [1, 2], { traceparent: "no trace" }));
      const ids = spans().map((span) => span.spanContext().traceId);
      expect(ids[0]).toBe(traceId);
      expect(ids).not.toContain("no trace");
    });

    test("from the _meta of a tool's call to the method behind it", async () => {
      const agents = mcpServer(traced(), { name: "sums", version: "1" });
      const params = { name: "add", arguments: { a: 1, b: 2 }, _meta: { traceparent } };
      await agents.receive(requestText("tools/call", params));
      expect(named("tools/call add", SpanKind.SERVER).spanContext().traceId).toBe(traceId);
    });

    test("into the _meta of what an MCP client sends", async () => {
      let seen: unknown;
      const server = createServer({
        tool: (params: unknown) => {
          seen = params;
          return null;
        },
      });
      const http = await serveHttp(server, { port: 0 });
      const client = createClient(httpLink(http.url), {
        use: [tracing({ tracerProvider, carrier: "meta" })],
      });
      await client.call("tool", { name: "x", _meta: { progressToken: 1 } });
      await client.close();
      await server.close();
      const { traceId: own, spanId } = named("tool", SpanKind.CLIENT).spanContext();
      expect(seen).toEqual({
        name: "x",
        _meta: { progressToken: 1, traceparent: `00-${own}-${spanId}-01` },
      });
    });

    test("through a handler that calls on, and back to the caller, in one trace", async () => {
      const last = createServer(methods, { use: [tracing({ tracerProvider })] });
      const lastHttp = await serveHttp(last, { port: 0 });
      const onward = createClient<typeof methods>(httpLink(lastHttp.url), {
        use: [tracing({ tracerProvider })],
      });
      const first = createServer(
        {
          ask: async () => onward.api.add(1, 2),
          askBack: method({}, (_, call) => call.peer.call("client/name")),
        },
        { use: [tracing({ tracerProvider })] },
      );
      const firstHttp = await serveHttp(first, { port: 0 });
      const own = createServer(
        { "client/name": () => "ada" },
        { use: [tracing({ tracerProvider })] },
      );
      const connection = await connectWebSocket(firstHttp.url.replace("http", "ws"), {
        service: own,
      });
      const client = createClient(connection, { use: [tracing({ tracerProvider })] });
      const tracer = tracerProvider.getTracer("test");
      await tracer.startActiveSpan("work", async (span) => {
        expect(await client.call("ask", {})).toBe(3);
        expect(await client.call("askBack", {})).toBe("ada");
        span.end();
      });
      await Promise.all([client.close(), onward.close()]);
      await Promise.all([first.close(), last.close()]);
      expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
      const chain = ["ask", "add"].flatMap((name) => [
        named(name, SpanKind.CLIENT),
        named(name, SpanKind.SERVER),
      ]);
      for (const [i, span] of chain.entries()) {
        if (i > 0) expect(parentOf(span)).toBe(chain[i - 1]?.spanContext().spanId);
      }
      expect(parentOf(named("client/name", SpanKind.SERVER))).toBe(
        named("client/name", SpanKind.CLIENT).spanContext().spanId,
      );
      expect(parentOf(named("client/name", SpanKind.CLIENT))).toBe(
        named("askBack", SpanKind.SERVER).spanContext().spanId,
      );
    });

    test.each([
      ["that is traced is a hop", true],
      ["that is not passes the trace on", false],
    ])("through a gateway: one %s", async (_, isTraced) => {
      const server = traced();
      const behind = await serveHttp(server, { port: 0 });
      const gateway = await createGateway(
        {
          upstreams: {
            sums: {
              targets: { one: () => webSocketLink(behind.url.replace("http", "ws")) },
              // It would also be a call with its own trace.
              healthCheck: false,
            },
          },
          routes: [{ method: "add", to: "sums" }],
        },
        { use: isTraced ? [tracing({ tracerProvider })] : [], discover: false },
      );
      const http = await serveHttp(gateway, { port: 0 });
      const client = createClient<typeof methods>(httpLink(http.url), {
        use: [tracing({ tracerProvider })],
      });
      expect(await client.api.add(1, 2)).toBe(3);
      await client.close();
      await gateway.close();
      await server.close();
      const answered = spans().filter(({ kind }) => kind === SpanKind.SERVER);
      const called = named("add", SpanKind.CLIENT);
      expect(answered).toHaveLength(isTraced ? 2 : 1);
      expect(new Set(spans().map((span) => span.spanContext().traceId)).size).toBe(1);
      const [last, first = last] = answered as [ReadableSpan, ReadableSpan?];
      expect(parentOf(first)).toBe(called.spanContext().spanId);
      if (isTraced) expect(parentOf(last)).toBe(first.spanContext().spanId);
    });

    test("through a gateway with a client span for each attempt to send a call on", async () => {
      const use = [tracing({ tracerProvider })];
      const metrics = createMetrics();
      const server = traced();
      const behind = await serveHttp(server, { port: 0 });
      const targets = {
        there: () => httpLink(behind.url),
        // The first call goes to this one.
        away: () => httpLink("http://127.0.0.1:1/"),
      };
      const gateway = await createGateway(
        {
          upstreams: { sums: { targets, healthCheck: false } },
          routes: [{ method: "sums/*", to: "sums", rename: "*" }],
        },
        { use, useUpstream: [...use, metrics.middleware], discover: false, log: silentLog },
      );
      await gateway.receive(requestText("sums/add", [1, 2]));
      await gateway.close();
      await server.close();
      const hop = named("sums/add", SpanKind.SERVER);
      const sent = spans().filter(({ kind }) => kind === SpanKind.CLIENT);
      expect(sent.map(({ name, attributes }) => [name, attributes["error.type"]])).toEqual([
        ["add", "CONNECTION_FAILED"],
        ["add", undefined],
      ]);
      for (const span of sent) expect(parentOf(span)).toBe(hop.spanContext().spanId);
      expect(sent[1]?.attributes).toMatchObject({
        "server.address": "127.0.0.1",
        "server.port": Number(new URL(behind.url).port),
      });
      expect(parentOf(named("add", SpanKind.SERVER))).toBe(sent[1]?.spanContext().spanId);
      const counted = metrics.families().find(({ name }) => name === "callwire_client_calls");
      expect(counted?.series).toMatchObject([{ value: 2 }]);
    });

    test("what a middleware behind it passes on names this span as its parent", () => {
      let passed: string | undefined;
      const server = createServer(methods, {
        use: [
          tracing({ tracerProvider }),
          (next) => (request, call) => {
            passed = request.traceparent;
            return next(request, call);
          },
        ],
      });
      void server.receive(requestText("add", [1, 2], { traceparent }));
      const { spanId } = named("add", SpanKind.SERVER).spanContext();
      expect(passed).toBe(`00-${traceId}-${spanId}-01`);
    });

    test("a trace that is not sampled makes no spans and still travels", async () => {
      const off = new BasicTracerProvider({ sampler: new AlwaysOffSampler() });
      const server = createServer(methods, { use: [tracing({ tracerProvider: off })] });
      const http = await serveHttp(server, { port: 0 });
      const client = createClient<typeof methods>(httpLink(http.url), {
        use: [tracing({ tracerProvider })],
      });
      expect(await client.api.later("x")).toBe("x");
      await client.close();
      await server.close();
      expect(spans()).toHaveLength(1);
    });

    test("the log names the trace that began here", () => {
      const log = new RecordingLog();
      const server = createServer(methods, {
        use: [logging({ log }), tracing({ tracerProvider })],
      });
      void server.receive(requestText("add", [1, 2]));
      expect(log.entries[0]?.fields.traceId).toBe(
        named("add", SpanKind.SERVER).spanContext().traceId,
      );
    });

    test("without an SDK calls pass unchanged", async () => {
      propagation.disable();
      trace.disable();
      const server = createServer(methods, { use: [tracing()] });
      expect(JSON.parse(server.receive(requestText("add", [1, 2])) as string).result).toBe(3);
      expect(JSON.parse((await server.receive(requestText("later", ["x"]))) as string).result).toBe(
        "x",
      );
    });
  });

  test.each([
    ["JSON", "application/json", (url: string) => new JsonExporter({ url })],
    ["protobuf", "application/x-protobuf", (url: string) => new ProtobufExporter({ url })],
  ])("OTLP in %s reaches a receiver with one trace", async (_, type, make) => {
    await using receiver = new OtlpReceiver();
    const provider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(make(await receiver.listen()))],
    });
    const use = [tracing({ tracerProvider: provider })];
    const server = createServer(methods, { use, log: silentLog });
    const http = await serveHttp(server, { port: 0 });
    const client = createClient<typeof methods>(httpLink(http.url), { use });
    await expect(client.api.fail()).rejects.toThrow("Too long");
    await client.close();
    await server.close();
    await provider.shutdown();
    expect([...receiver.contentTypes]).toEqual([type]);
    const [answered, called] = receiver.spans.sort((a, b) => a.kind - b.kind);
    expect(receiver.spans).toHaveLength(2);
    expect(answered).toMatchObject({ name: "fail", kind: 2, traceId: called?.traceId });
    expect(answered?.parentSpanId).toBe(called?.spanId);
    expect(answered?.attributes).toMatchObject({
      "rpc.system.name": "jsonrpc",
      "rpc.status_code": "1001",
    });
  });

  describe("set up before an SDK is registered", () => {
    /** A second copy of the API, as npm installs it if two packages need different versions. */
    function otherApi(): typeof import("@opentelemetry/api") {
      const require = createRequire(import.meta.url);
      const main = require.resolve("@opentelemetry/api");
      const folder = main.slice(0, main.indexOf("build"));
      for (const file of Object.keys(require.cache))
        if (file.startsWith(folder)) delete require.cache[file];
      return require(main);
    }

    const calling = (use: readonly Middleware[]) => {
      const server = createServer(methods, { use });
      return () => server.receive(requestText("add", [1, 2]));
    };

    beforeEach(() => trace.disable());

    test("tracing records calls after that", () => {
      const call = calling([tracing()]);
      void call();
      trace.setGlobalTracerProvider(tracerProvider);
      void call();
      expect(spans()).toHaveLength(1);
    });

    test("tracing records calls, also if the SDK has a copy of the API of its own", () => {
      const call = calling([tracing()]);
      void call();
      otherApi().trace.setGlobalTracerProvider(tracerProvider);
      void call();
      expect(spans()).toHaveLength(1);
    });

    test("metering records calls after that", async () => {
      const memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
      const reader = new PeriodicExportingMetricReader({
        exporter: memory,
        exportIntervalMillis: 1e9,
      });
      const call = calling([metering()]);
      void call();
      const provider = new MeterProvider({ readers: [reader] });
      otelMetrics.setGlobalMeterProvider(provider);
      void call();
      await reader.forceFlush();
      await provider.shutdown();
      const points = new Map(
        memory
          .getMetrics()
          .flatMap(({ scopeMetrics }) => scopeMetrics)
          .flatMap((scope) => scope.metrics)
          .map(({ descriptor, dataPoints }) => [descriptor.name, dataPoints[0]?.value]),
      );
      expect(points.get("rpc.server.call.duration")).toMatchObject({ count: 1 });
      expect(points.get("callwire.calls")).toBe(2);
    });
  });

  describe("the variables of the docs", () => {
    const page = readFileSync(`${root}docs/observability.md`, "utf8");
    const keys = { LANGFUSE_PUBLIC_KEY: "pk-lf-1", LANGFUSE_SECRET_KEY: "sk-lf-2" };

    /** Sends a span with the command that a shell makes of a block, but to this receiver. */
    async function sentBy(block: number, receiver: OtlpReceiver): Promise<string> {
      const blocks = page.split("### Jaeger and LangFuse")[1]?.match(/```sh\n[^`]*```/g) ?? [];
      const commands = blocks[block]?.replaceAll("```", "").replace(/^sh\n/, "");
      const { stdout } = spawnSync("sh", ["-c", `${commands}\nenv`], {
        encoding: "utf8",
        env: { PATH: process.env.PATH, ...keys },
      });
      const set = new Map(
        stdout
          .split("\n")
          .filter((line) => line.startsWith("OTEL_"))
          .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
      );
      const endpoint = set.get("OTEL_EXPORTER_OTLP_ENDPOINT") ?? "";
      const { origin } = new URL(await receiver.listen());
      vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.replace(new URL(endpoint).origin, origin));
      vi.stubEnv("OTEL_EXPORTER_OTLP_HEADERS", set.get("OTEL_EXPORTER_OTLP_HEADERS"));
      const provider = new BasicTracerProvider({
        spanProcessors: [new BatchSpanProcessor(new JsonExporter())],
      });
      const server = createServer(methods, { use: [tracing({ tracerProvider: provider })] });
      void server.receive(requestText("add", [1, 2]));
      await provider.shutdown();
      expect(receiver.spans).toMatchObject([{ name: "add", kind: 2 }]);
      return endpoint;
    }

    afterEach(() => {
      vi.unstubAllEnvs();
    });

    test("send traces to Jaeger", async () => {
      await using receiver = new OtlpReceiver();
      expect(await sentBy(0, receiver)).toBe("http://localhost:4318");
      expect(receiver.requests).toMatchObject([{ url: "/v1/traces" }]);
    });

    test("send traces to LangFuse, with its credentials and version", async () => {
      await using receiver = new OtlpReceiver();
      expect(await sentBy(1, receiver)).toBe("https://cloud.langfuse.com/api/public/otel");
      expect(receiver.requests).toMatchObject([
        {
          url: "/api/public/otel/v1/traces",
          headers: {
            authorization: `Basic ${btoa(Object.values(keys).join(":"))}`,
            "x-langfuse-ingestion-version": "4",
          },
        },
      ]);
    });
  });

  test("metrics reach OpenTelemetry with the names of the conventions", async () => {
    const memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({
      exporter: memory,
      exportIntervalMillis: 1e9,
    });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const metrics = createMetrics();
    const use = [metrics.middleware, metering({ metrics, meterProvider })];
    const server = createServer(methods, { use, log: silentLog });
    const http = await serveHttp(server, { port: 0 });
    const client = createClient<typeof methods>(httpLink(http.url), { use });
    await client.api.add(1, 2);
    await expect(client.api.fail()).rejects.toThrow();
    await client.call<unknown>("made/up").catch(() => {});
    await reader.forceFlush();
    await client.close();
    await server.close();
    const found = new Map(
      memory
        .getMetrics()
        .flatMap(({ scopeMetrics }) => scopeMetrics)
        .flatMap((scope) => scope.metrics)
        .map((metric) => [metric.descriptor.name, metric.dataPoints]),
    );
    const durations = found.get("rpc.server.call.duration") ?? [];
    expect(
      durations.map(({ attributes, value }) => [attributes, (value as { count: number }).count]),
    ).toEqual([
      [{ "rpc.system.name": "jsonrpc", "rpc.method": "add" }, 1],
      [
        {
          "rpc.system.name": "jsonrpc",
          "rpc.method": "fail",
          "error.type": "1001",
          "rpc.status_code": "1001",
        },
        1,
      ],
      [
        {
          "rpc.system.name": "jsonrpc",
          "rpc.method": "_OTHER",
          "error.type": "-32601",
          "rpc.status_code": "-32601",
        },
        1,
      ],
    ]);
    expect(found.get("rpc.client.call.duration")).toHaveLength(3);
    expect(found.get("callwire.calls")?.map(({ value }) => value)).toEqual([1, 1, 1]);
    expect(found.get("callwire.connections")).toMatchObject([
      { attributes: { transport: "http" }, value: expect.any(Number) },
    ]);
    await meterProvider.shutdown();
  });
});
