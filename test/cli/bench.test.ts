import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer, method, RpcError, type Server, stream } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { deferred } from "../transports/contract/wire.ts";
import { build, type Exit, finish, start } from "./process.ts";

beforeAll(() => build());

let server: Server;
let http: HttpServer;
let calls: number;
let onCall: (count: number) => unknown;

beforeEach(async () => {
  calls = 0;
  onCall = () => {};
  server = createServer({
    count: stream({}, function* () {
      for (let n = 0; ; n++) yield n;
    }),
    add: method({}, async (params) => {
      await onCall(++calls);
      const [a, b] = params as [number, number];
      return a + b;
    }),
  });
  http = await serveHttp(server, { port: await ownPort() });
});

afterEach(() => server.close({ drainMs: 0 }));

const webSocketUrl = (): string => `${http.url.replace(/^http/, "ws")}/ws`;

interface Report {
  readonly calls: number;
  readonly perSecond: number;
  readonly errors: Record<string, number>;
  readonly unsent: number;
  readonly latencyMs: Record<string, number>;
  readonly histogram: readonly { readonly count: number }[];
}

function reportOf({ stdout }: Exit): Report {
  return JSON.parse(stdout);
}

test.each(["http", "ws"])(
  "--requests ends it, and every call is counted, over %s",
  async (wire) => {
    const url = wire === "http" ? http.url : webSocketUrl();
    const exit = await finish([
      "bench",
      url,
      "add",
      "2",
      "3",
      "-n",
      "200",
      "-c",
      "4",
      "-i",
      "2",
      "--json",
    ]);
    expect(exit).toMatchObject({ code: 0, stderr: "" });
    const { latencyMs, histogram, ...report } = reportOf(exit);
    expect(report).toMatchObject({ calls: 200, errors: {}, unsent: 0 });
    // Each connection was opened by a call that does not count.
    expect(calls).toBe(204);
    expect(histogram.reduce((sum, { count }) => sum + count, 0)).toBe(200);
    const { min, p50, p90, p99, "p99.9": p999, max } = latencyMs as Record<string, number>;
    const order = [min, p50, p90, p99, p999, max];
    expect(order).toEqual([...order].sort((a, b) => (a as number) - (b as number)));
  },
);

test("the report for people has percentiles and a histogram", async () => {
  const { code, stdout } = await finish(["bench", http.url, "add", "2", "3", "-n", "50"]);
  expect(stdout).toMatch(/^add at http/);
  expect(stdout).toMatch(/^[\d,.]+ calls per second: 50 in [\d.]+ s$/m);
  expect(stdout).toMatch(/^Latency +p50 +p90 +p99 +p99\.9 +max$/m);
  expect(stdout).toMatch(/ms … .*█.* +[\d.]+%$/m);
  expect(stdout).not.toContain("\u001b");
  expect(code).toBe(0);
});

test("--inflight is what is open at a time on a connection", async () => {
  let open = 0;
  let most = 0;
  const full = deferred();
  onCall = async (count) => {
    // The calls that open the two connections run alone.
    if (count <= 2) return;
    most = Math.max(most, ++open);
    if (open === 6) full.resolve();
    await full.promise;
    await sleep(1);
    open--;
  };
  await finish([
    "bench",
    webSocketUrl(),
    "add",
    "2",
    "3",
    "-n",
    "60",
    "-c",
    "2",
    "-i",
    "3",
    "--json",
  ]);
  expect(most).toBe(6);
});

test("--rate counts from when a call was due, so that a slow server cannot hide", async () => {
  // The first call after the one that opens the connection delays all others.
  onCall = (count) => (count === 2 ? sleep(600) : undefined);
  const args = [
    "bench",
    http.url,
    "add",
    "2",
    "3",
    "--rate",
    "100",
    "-n",
    "20",
    "-c",
    "1",
    "--json",
  ];
  const report = reportOf(await finish(args));
  expect(report.calls).toBe(20);
  // The last was due after 190 ms and sent after 600 at the earliest.
  expect(report.latencyMs.min).toBeGreaterThan(400);
});

test("calls that were due and could not be sent are reported", async () => {
  onCall = (count) => (count === 1 ? undefined : sleep(300));
  const args = ["bench", http.url, "add", "2", "3", "--rate", "100", "-d", "200ms", "-c", "1"];
  const report = reportOf(await finish([...args, "--json"]));
  expect(report).toMatchObject({ calls: 1, unsent: 19 });
});

test("errors are counted by their code", async () => {
  onCall = () => {
    throw new RpcError(-32050, "No stock");
  };
  const exit = await finish(["bench", http.url, "add", "-n", "30", "--json"]);
  expect(reportOf(exit)).toMatchObject({ calls: 30, errors: { "-32050": 30 } });
  expect(exit.code).toBe(1);
});

test("a method that the server does not have ends it before the load", async () => {
  const { code, stdout, stderr } = await finish(["bench", http.url, "ad", "2", "3"]);
  expect(stderr).toBe('callwire: ad answered -32601 Method not found; did you mean "add"?\n');
  expect(stdout).toBe("");
  expect(code).toBe(1);
});

test("a server that goes away in the middle is counted and not hammered", async () => {
  const sockets = new Set<Socket>();
  let connections = 0;
  http.server.on("connection", (socket: Socket) => {
    connections++;
    sockets.add(socket);
  });
  onCall = (count) => {
    if (count !== 5) return undefined;
    http.server.close();
    for (const socket of sockets) socket.destroy();
    // The reply that could no longer be sent.
    return new Promise(() => {});
  };
  const args = ["bench", webSocketUrl(), "add", "2", "3", "-n", "8", "-c", "1", "--json"];
  const exit = await finish(args);
  // The first call opens the connection and is not counted.
  expect(reportOf(exit)).toMatchObject({
    calls: 3,
    errors: { CONNECTION_LOST: 1, CONNECTION_FAILED: 4 },
  });
  expect(connections).toBe(1);
  expect(exit.code).toBe(1);
});

test("Ctrl-C ends early, with the report", async () => {
  const reached = new Promise<void>((resolve) => {
    onCall = (count) => {
      if (count > 50) resolve();
    };
  });
  await using bench = start(["bench", http.url, "add", "2", "3", "-d", "100s", "--json"]);
  await reached;
  bench.child.kill("SIGINT");
  const exit = await bench.exited;
  expect(reportOf(exit).calls).toBeGreaterThan(10);
  expect(reportOf(exit).errors).toEqual({});
  expect(exit.code).toBe(130);
});

test("a stream is refused", async () => {
  const { code, stderr } = await finish(["bench", webSocketUrl(), "count", "-n", "3"]);
  expect(stderr).toBe("callwire: count is a stream; bench measures calls only\n");
  expect(code).toBe(2);
});

test("no server is exit code 3", async () => {
  const { code, stdout, stderr } = await finish(["bench", "http://127.0.0.1:1", "add"]);
  expect(stderr).toMatch(/^callwire: [^\n]+\n$/);
  expect(stdout).toBe("");
  expect(code).toBe(3);
});
