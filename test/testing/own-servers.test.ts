import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Server, silentLog } from "callwire";
import { createGateway, type Gateway } from "callwire/gateway";
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
import { isFull } from "../full.ts";

// The demo passes every case on every wire.

const framings = ["newline", "content-length", "length-prefix"] as const;

let server: Server;
let both: Server;
let gateway: Gateway;
let http: HttpServer;
let front: HttpServer;
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
  gateway = await createGateway(
    {
      upstreams: { demo: { targets: { target: () => httpLink(http.url) }, healthCheck: false } },
      routes: [{ method: "*", to: "demo" }],
    },
    { log: silentLog },
  );
  front = await serveHttp(gateway, { port: 0 });
});

afterAll(async () => {
  await gateway?.close();
  await Promise.all([server?.close(), both?.close()]);
  await rm(folder, { recursive: true, force: true });
});

/** The failures, with enough to see their reason. */
function faults({ results }: ConformanceReport): string[] {
  return results.flatMap(({ case: { id }, outcome, reason, exchanges }) =>
    outcome === "failed" ? [`${id}: ${reason} (${JSON.stringify(exchanges.at(-1))})`] : [],
  );
}

async function expectPerfect(wire: ConformanceWire): Promise<void> {
  const report = await runConformance(wire, { timeoutMs: 30_000 });
  expect(faults(report)).toEqual([]);
  expect(report).toMatchObject({ ok: true, state: "finished" });
  expect(report.sent.messages).toBeLessThanOrEqual(planConformance(wire).mostMessages);
  const unasked = report.results.filter(
    ({ outcome, reason }) => outcome === "skipped" && !/^for /.test(reason ?? ""),
  );
  expect(unasked).toEqual([]);
}

const overWebSocket = (url: string): ConformanceWire =>
  rawWebSocketConformanceWire(`${url.replace("http", "ws")}/ws`);

const wires: Readonly<Record<string, () => ConformanceWire>> = {
  HTTP: () => httpConformanceWire(http.url),
  "HTTP, where it speaks 1.0 as well": () =>
    httpConformanceWire(new URL("/jsonrpc", http.url).href),
  fetch: () => fetchConformanceWire(http.url),
  WebSocket: () => overWebSocket(http.url),
  "WebSocket and a gateway": () => overWebSocket(front.url),
  // `npm test` runs the same transcripts on all of these.
  ...(isFull && {
    "a unix socket": () => socketConformanceWire(`unix:${join(folder, "demo.sock")}`),
    "HTTP and a gateway": () => httpConformanceWire(front.url),
  }),
  ...Object.fromEntries(
    (isFull ? framings : (["newline", "length-prefix"] as const)).map((framing) => [
      `TCP with ${framing} framing`,
      () => socketConformanceWire(`tcp://127.0.0.1:${tcp.get(framing)?.port}`, { framing }),
    ]),
  ),
  ...Object.fromEntries(
    // Each is a process.
    (isFull ? framings : (["content-length"] as const)).map((framing) => [
      `stdio with ${framing} framing`,
      () => {
        const args = [cli, "demo", "--stdio", "--framing", framing];
        return stdioConformanceWire(process.execPath, args, { framing });
      },
    ]),
  ),
};

describe("our own server passes every case", () => {
  // Concurrently, since most of the time is waiting for answers that should not come.
  test.concurrent.each(Object.entries(wires))(
    "over %s",
    (_, wire) => expectPerfect(wire()),
    180_000,
  );

  test("and each case is for one of these wires at least", () => {
    const abilities = Object.values(wires).map((wire) => wire().abilities);
    const left = conformanceCases.filter(
      ({ needs = [] }) => !abilities.some((has) => needs.every((ability) => has.has(ability))),
    );
    expect(left).toEqual([]);
  });
});
