import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server, silentLog } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type SocketServer, serveSocket } from "callwire/tcp";
import {
  type ConformanceReport,
  type ConformanceWire,
  conformanceCases,
  fetchConformanceWire,
  planConformance,
  runConformance,
} from "callwire/testing";
import {
  httpConformanceWire,
  rawWebSocketConformanceWire,
  socketConformanceWire,
  stdioConformanceWire,
} from "callwire/testing/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { methods } from "../../examples/demo/methods.ts";
import { build, cli } from "../cli/process.ts";

// The demo passes every case on every wire.

const framings = ["newline", "content-length", "length-prefix"] as const;

let server: Server;
let both: Server;
let http: HttpServer;
let folder: string;
const tcp = new Map<string, SocketServer>();

beforeAll(async () => {
  await build();
  folder = await mkdtemp(join(tmpdir(), "conformance-"));
  server = createServer(methods, { log: silentLog });
  both = createServer(methods, { versions: ["1.0", "2.0"], log: silentLog });
  http = await serveHttp(server, { port: 0, mounts: { "/jsonrpc": both } });
  for (const framing of framings) tcp.set(framing, await serveSocket(server, { port: 0, framing }));
  await serveSocket(server, { path: join(folder, "demo.sock") });
}, 60_000);

afterAll(async () => {
  await Promise.all([server?.close(), both?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** What failed, with enough to see why. */
function faults({ results }: ConformanceReport): string[] {
  return results.flatMap(({ case: { id }, outcome, reason, exchanges }) =>
    outcome === "failed" ? [`${id}: ${reason} (${JSON.stringify(exchanges.at(-1))})`] : [],
  );
}

const reports = new Map<string, ConformanceReport>();

async function expectPerfect(name: string, wire: ConformanceWire): Promise<void> {
  const report = await runConformance(wire, { timeoutMs: 30_000 });
  reports.set(name, report);
  expect(faults(report)).toEqual([]);
  expect(report).toMatchObject({ ok: true, state: "finished" });
  expect(report.sent.messages).toBeLessThanOrEqual(planConformance(wire).mostMessages);
  const unasked = report.results.filter(
    ({ outcome, reason }) => outcome === "skipped" && !/^for /.test(reason ?? ""),
  );
  expect(unasked).toEqual([]);
}

describe("our own server passes every case", () => {
  const long = 60_000;

  test("over HTTP", () => expectPerfect("HTTP", httpConformanceWire(http.url)), long);

  test(
    "over HTTP, where it speaks 1.0 as well",
    async () => {
      const url = new URL("/jsonrpc", http.url).href;
      await expectPerfect("HTTP with 1.0", httpConformanceWire(url));
    },
    long,
  );

  test("over fetch", () => expectPerfect("fetch", fetchConformanceWire(http.url)), long);

  test(
    "over WebSocket",
    async () => {
      const url = `${http.url.replace("http", "ws")}/ws`;
      await expectPerfect("WebSocket", rawWebSocketConformanceWire(url));
    },
    long,
  );

  test.each(framings)(
    "over TCP with %s framing",
    async (framing) => {
      const address = `tcp://127.0.0.1:${tcp.get(framing)?.port}`;
      await expectPerfect(`TCP ${framing}`, socketConformanceWire(address, { framing }));
    },
    long,
  );

  test(
    "over a unix socket",
    async () => {
      const wire = socketConformanceWire(`unix:${join(folder, "demo.sock")}`);
      await expectPerfect("unix", wire);
    },
    long,
  );

  test.each(framings)(
    "over stdio with %s framing",
    async (framing) => {
      const args = [cli, "demo", "--stdio", "--framing", framing];
      await expectPerfect(
        `stdio ${framing}`,
        stdioConformanceWire(process.execPath, args, { framing }),
      );
    },
    long,
  );

  test(
    "through a gateway",
    async () => {
      const gateway = await createGateway(
        {
          upstreams: {
            demo: { targets: { target: () => httpLink(http.url) }, healthCheck: false },
          },
          routes: [{ method: "*", to: "demo" }],
        },
        { log: silentLog },
      );
      const front = await serveHttp(gateway, { port: 0 });
      await expectPerfect("gateway", httpConformanceWire(front.url));
      await expectPerfect(
        "gateway WebSocket",
        rawWebSocketConformanceWire(`${front.url.replace("http", "ws")}/ws`),
      );
      await gateway.close();
    },
    long,
  );

  test("and each case was run by one of them at least", () => {
    const passed = new Set(
      [...reports.values()].flatMap(({ results }) =>
        results.flatMap(({ case: { id }, outcome }) => (outcome === "passed" ? [id] : [])),
      ),
    );
    expect(conformanceCases.map(({ id }) => id).filter((id) => !passed.has(id))).toEqual([]);
  });
});
