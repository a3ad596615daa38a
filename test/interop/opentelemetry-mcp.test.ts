import { context, propagation, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  NodeTracerProvider,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-node";
import { createServer, silentLog } from "callwire";
import { type Channel, memoryChannels } from "callwire/connection";
import { serveHttp } from "callwire/http/node";
import {
  type McpServer,
  mcpGateway,
  mcpMounts,
  mcpServer,
  prompt,
  resource,
  serveMcpChannel,
  tool,
} from "callwire/mcp";
import {
  type McpClient,
  mcpChannelLink,
  mcpClient,
  mcpHttpLink,
  mcpMemoryLink,
} from "callwire/mcp/client";
import { metering, tracing } from "callwire/observability/otel";
import { FakeClock } from "callwire/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { describeWith } from "../services.ts";
import { OtlpReceiver, type ReceivedSpan } from "./otlp-receiver.ts";

const info = { name: "test", version: "1.0.0", log: silentLog };

type Use = NonNullable<Parameters<typeof mcpServer>[1]["use"]>;

let baggage: string | undefined;

function both(use: Use): [McpServer, McpClient] {
  const server = mcpServer(
    {
      math: { add: (a: number, b: number) => a + b },
      fail: tool({}, () => ({ content: [], isError: true })),
      carried: tool({}, () => {
        baggage = propagation.getActiveBaggage()?.getEntry("user.id")?.value;
        return "";
      }),
    },
    {
      ...info,
      use,
      prompts: { greet: prompt({}, () => "Hello") },
      resources: [resource({ uri: "note://1", name: "one", read: () => "first" })],
    },
  );
  return [server, mcpClient(mcpMemoryLink(server), { ...info, use })];
}

/** The type of an observation, as LangFuse chooses it. */
function langfuseType({ attributes }: Pick<ReceivedSpan, "attributes">): string {
  const isTool =
    attributes["gen_ai.operation.name"] === "execute_tool" ||
    attributes["gen_ai.tool.name"] !== undefined;
  return isTool ? "TOOL" : "SPAN";
}

describeWith(["npm peers"], "OpenTelemetry for MCP", () => {
  beforeEach(() => {
    new NodeTracerProvider().register();
  });

  afterEach(() => {
    context.disable();
    propagation.disable();
    trace.disable();
  });

  test("spans have the names and attributes of the conventions, on both sides of one trace", async () => {
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const [, client] = both([tracing({ tracerProvider })]);
    await client.connect();
    await client.callTool("math_add", { a: 1, b: 2 });
    await client.getPrompt("greet");
    await client.readResource("note://1");
    await client.close();
    const named = (name: string) =>
      exporter.getFinishedSpans().filter((span) => span.name === name);
    const [answered, called] = named("tools/call math_add");
    const common = {
      "mcp.method.name": "tools/call",
      "mcp.protocol.version": "2026-07-28",
      "gen_ai.tool.name": "math_add",
      "gen_ai.operation.name": "execute_tool",
      "jsonrpc.request.id": expect.any(String),
    };
    expect(called?.attributes).toMatchObject(common);
    expect(answered?.attributes).toMatchObject(common);
    expect(answered?.parentSpanContext?.spanId).toBe(called?.spanContext().spanId);
    expect(named("prompts/get greet")[0]?.attributes).toMatchObject({
      "gen_ai.prompt.name": "greet",
    });
    expect(named("resources/read")[0]?.attributes).toMatchObject({
      "mcp.resource.uri": "note://1",
    });
  });

  test("a result that is an error is a failed span on both sides", async () => {
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const [, client] = both([tracing({ tracerProvider })]);
    await client.callTool("fail");
    await client.close();
    const failed = exporter.getFinishedSpans().filter(({ name }) => name === "tools/call fail");
    expect(failed).toHaveLength(2);
    for (const { status, attributes } of failed) {
      expect(status.code).toBe(SpanStatusCode.ERROR);
      expect(attributes["error.type"]).toBe("tool_error");
    }
  });

  test("a gateway has a server span for each call, and a client span for sending it on", async () => {
    const exporter = new InMemorySpanExporter();
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const use = [tracing({ tracerProvider })];
    const upstream = mcpServer({ add: (a: number, b: number) => a + b }, { ...info, use });
    const gateway = mcpGateway({ math: upstream }, { ...info, use, useUpstream: use });
    const client = mcpClient(mcpMemoryLink(gateway), { ...info, use });
    await client.callTool("math_add", { a: 1, b: 2 });
    await client.close();
    await gateway.close();
    const calls = exporter.getFinishedSpans().filter(({ name }) => name.startsWith("tools/call"));
    const [first] = calls.filter(({ parentSpanContext }) => parentSpanContext === undefined);
    const chain = [first];
    for (;;) {
      const { spanId } = chain.at(-1)?.spanContext() ?? {};
      const next = calls.find(({ parentSpanContext }) => parentSpanContext?.spanId === spanId);
      if (next === undefined) break;
      chain.push(next);
    }
    expect(chain.map((span) => [span?.kind, span?.name])).toEqual([
      [SpanKind.CLIENT, "tools/call math_add"],
      [SpanKind.SERVER, "tools/call math_add"],
      [SpanKind.CLIENT, "tools/call add"],
      [SpanKind.SERVER, "tools/call add"],
    ]);
  });

  test("baggage travels to the handler", async () => {
    const tracerProvider = new BasicTracerProvider();
    const [, client] = both([tracing({ tracerProvider })]);
    const carried = propagation.createBaggage({ "user.id": { value: "ada" } });
    await context.with(propagation.setBaggage(context.active(), carried), () =>
      client.callTool("carried"),
    );
    await client.close();
    expect(baggage).toBe("ada");
  });

  test("LangFuse takes calls of tools for tools", async () => {
    await using receiver = new OtlpReceiver();
    const exporter = new OTLPTraceExporter({ url: await receiver.listen() });
    const tracerProvider = new BasicTracerProvider({
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    const [, client] = both([tracing({ tracerProvider })]);
    await client.callTool("math_add", { a: 1, b: 2 });
    await client.getPrompt("greet");
    await client.close();
    await tracerProvider.shutdown();
    const types = (name: string): string[] =>
      receiver.spans.filter((span) => span.name === name).map(langfuseType);
    expect(types("tools/call math_add")).toEqual(["TOOL", "TOOL"]);
    expect(types("prompts/get greet")).toEqual(["SPAN", "SPAN"]);
  });

  test("durations are histograms by the names of the conventions", async () => {
    const memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({
      exporter: memory,
      exportIntervalMillis: 2 ** 31 - 1,
    });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const [, client] = both([metering({ meterProvider })]);
    await client.callTool("math_add", { a: 1, b: 2 });
    await client.callTool("fail");
    await client.close();
    await meterProvider.forceFlush();
    const metrics = memory
      .getMetrics()
      .flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
    for (const side of ["server", "client"]) {
      const found = metrics.find(
        ({ descriptor }) => descriptor.name === `mcp.${side}.operation.duration`,
      );
      const attributes = found?.dataPoints.map((point) => point.attributes);
      expect(attributes).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ "gen_ai.tool.name": "math_add" }),
          expect.objectContaining({ "gen_ai.tool.name": "fail", "error.type": "tool_error" }),
        ]),
      );
    }
    await meterProvider.shutdown();
  });

  describe("the duration of a session", () => {
    const clock = new FakeClock();
    let meter: MeterProvider;
    let memory: InMemoryMetricExporter;
    let options: ReturnType<typeof observed>;

    function observed() {
      return { ...info, clock, use: [metering({ meterProvider: meter })] };
    }

    beforeEach(() => {
      memory = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
      const exportIntervalMillis = 2 ** 31 - 1;
      meter = new MeterProvider({
        readers: [new PeriodicExportingMetricReader({ exporter: memory, exportIntervalMillis })],
      });
      options = observed();
    });

    afterEach(() => meter.shutdown());

    /** How long sessions lasted, and their attributes. */
    async function sessions(side: "server" | "client") {
      await meter.forceFlush();
      const found = memory
        .getMetrics()
        .at(-1)
        ?.scopeMetrics.flatMap(({ metrics }) => metrics)
        .find(({ descriptor }) => descriptor.name === `mcp.${side}.session.duration`);
      return (found?.dataPoints ?? []).map(({ attributes, value }) => [
        (value as { sum?: number }).sum,
        attributes,
      ]);
    }

    test("is that of the connection", async () => {
      const server = mcpServer({}, options);
      const client = mcpClient(mcpMemoryLink(server), { ...options, era: "legacy" });
      await client.connect();
      clock.advance(2_500);
      expect([await sessions("server"), await sessions("client")]).toEqual([[], []]);
      await client.close();
      await server.close();
      const expected = [[2.5, { "mcp.protocol.version": "2025-11-25" }]];
      expect([await sessions("server"), await sessions("client")]).toEqual([expected, expected]);
    });

    test("is that of the HTTP session, which the client ends", async () => {
      const mounts = mcpMounts(mcpServer({}, options));
      await using http = await serveHttp(createServer({}), { port: 0, mounts });
      const url = new URL("/mcp", http.url).href;
      const client = mcpClient(mcpHttpLink(url), { ...options, era: "legacy" });
      await client.connect();
      clock.advance(1_500);
      await client.close();
      const attributes = {
        "mcp.protocol.version": "2025-11-25",
        "network.transport": "tcp",
        "network.protocol.name": "http",
      };
      const expected = [[1.5, attributes]];
      expect([await sessions("server"), await sessions("client")]).toEqual([expected, expected]);
    });

    test("says that a client lost its session", async () => {
      let channel: Channel | undefined;
      const server = mcpServer({}, options);
      const open = (): Channel => {
        const [near, far] = memoryChannels();
        serveMcpChannel(server, far);
        channel = far;
        return near;
      };
      await using client = mcpClient(mcpChannelLink(open), { ...options, era: "legacy" });
      await client.connect();
      clock.advance(1_000);
      channel?.close();
      // A call that is sent before the client knows of it would be lost too.
      await new Promise((resolve) => setImmediate(resolve));
      await client.tools().all();
      expect(await sessions("client")).toEqual([
        [1, { "mcp.protocol.version": "2025-11-25", "error.type": "CONNECTION_LOST" }],
      ]);
    });

    test("is not reported for 2026-07-28, which has no sessions", async () => {
      const server = mcpServer({}, options);
      const client = mcpClient(mcpMemoryLink(server), options);
      await client.connect();
      await client.close();
      await server.close();
      expect([await sessions("server"), await sessions("client")]).toEqual([[], []]);
    });
  });
});
