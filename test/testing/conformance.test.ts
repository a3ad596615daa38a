import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer as createHttpServer, type IncomingMessage } from "node:http";
import { type AddressInfo, createServer as createNetServer, type Socket } from "node:net";
import { join } from "node:path";
import { createServer, silentLog } from "callwire";
import { nodeHandler, serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import {
  type ConformanceReport,
  type ConformanceResult,
  conformanceBadge,
  conformanceCases,
  conformanceGroups,
  junitReport,
  planConformance,
  runConformance,
  webSocketConformanceWire,
} from "callwire/testing";
import {
  httpConformanceWire,
  socketConformanceWire,
  stdioConformanceWire,
} from "callwire/testing/node";
import { afterEach, describe, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { methods } from "../../examples/demo/methods.ts";
import { root } from "../entries.ts";
import { ownPort } from "../own-port.ts";
import { memoryLine } from "./memory-line.ts";

/** A server that answers everything is never waited for that long, however busy the machine is. */
const patient = { timeoutMs: 30_000 };
/** On a wire in memory, only what never arrives is waited for. */
const impatient = { timeoutMs: 50 };

const closing: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A TCP server that does this with each connection. */
async function tcpServer(accept: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    accept(socket);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function demo() {
  const server = createServer(methods, { log: silentLog });
  closing.push(() => server.close());
  return { server, http: await serveHttp(server, { port: 0 }) };
}

function outcomes({ results }: ConformanceReport, outcome: ConformanceResult["outcome"]): string[] {
  return results.filter((each) => each.outcome === outcome).map(({ case: { id } }) => id);
}

describe("the list", () => {
  test("names each case once, by its group", () => {
    const ids = conformanceCases.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { id, group } of conformanceCases) expect(id.startsWith(`${group}/`)).toBe(true);
    expect(new Set(conformanceCases.map(({ group }) => group))).toEqual(new Set(conformanceGroups));
  });

  test("is data, and describes each case", () => {
    expect(JSON.parse(JSON.stringify(conformanceCases))).toEqual(conformanceCases);
    for (const { title, says, section, exchanges } of conformanceCases) {
      for (const text of [title, says, section]) expect(text).not.toBe("");
      expect(exchanges).not.toHaveLength(0);
    }
  });
});

test("the list is in the docs", async () => {
  // Columns are aligned there.
  const page = (await readFile(join(root, "docs", "conformance.md"), "utf8")).replace(/ +/g, " ");
  const rows = conformanceCases.map(
    ({ id, level, title }) => `| \`${id}\` | ${level} | ${title} |`,
  );
  expect(rows.filter((row) => !page.includes(row))).toEqual([]);
  expect(page.match(/^\| `\w+\/[\w-]+` \| (MUST|SHOULD|hygiene) \|/gm)).toHaveLength(rows.length);
});

describe("a run", () => {
  test("sends the messages of its cases and no others", async () => {
    const server = createServer(methods, { log: silentLog });
    let requests = 0;
    const handle = nodeHandler(server);
    const http = createHttpServer((request: IncomingMessage, response) => {
      requests++;
      handle(request, response);
    }).listen(0, "127.0.0.1");
    await once(http, "listening");
    closing.push(
      () => http.close(),
      () => server.close(),
    );
    const wire = httpConformanceWire(`http://127.0.0.1:${(http.address() as AddressInfo).port}/`);
    const report = await runConformance(wire, { ...patient, groups: ["core", "ids", "batch"] });
    expect(report.ok).toBe(true);
    expect(report.sent.messages).toBe(requests);
    const plan = planConformance(wire, { groups: ["core", "ids", "batch"] });
    expect(requests).toBeLessThanOrEqual(plan.mostMessages);
  });

  test("reports each case as soon as it is decided", async () => {
    const { http } = await demo();
    const told: [string, number, number][] = [];
    const report = await runConformance(httpConformanceWire(http.url), {
      ...patient,
      groups: ["versions"],
      onResult: ({ case: { id } }, done, total) => told.push([id, done, total]),
    });
    const total = report.results.length;
    expect(told).toEqual(report.results.map(({ case: { id } }, i) => [id, i + 1, total]));
  });

  test("is of the cases that were chosen", async () => {
    const { http } = await demo();
    const wire = httpConformanceWire(http.url);
    const one = await runConformance(wire, { ...patient, cases: ["ids/zero"] });
    expect(outcomes(one, "passed")).toEqual(["ids/zero"]);
    const hygiene = await runConformance(wire, {
      ...patient,
      groups: ["ids"],
      levels: ["hygiene"],
    });
    expect(outcomes(hygiene, "passed")).toEqual(["ids/overflow"]);
    await expect(runConformance(wire, { cases: ["ids/none"] })).rejects.toThrow('"ids/none"');
  });

  test("skips what needs a method that the server does not have, and reports it", async () => {
    const server = createServer({ plus: (a: number, b: number) => a + b }, { log: silentLog });
    closing.push(() => server.close());
    const wire = httpConformanceWire((await serveHttp(server, { port: 0 })).url);
    const options = { ...patient, cases: ["core/result", "core/falsy-results", "core/call"] };
    const bare = await runConformance(wire, options);
    expect(outcomes(bare, "passed")).toEqual(["core/call"]);
    expect(bare.results.find(({ case: { id } }) => id === "core/result")).toMatchObject({
      outcome: "skipped",
      reason: 'the server has no method "add" to stand for the fixture add',
    });
    const named = await runConformance(wire, { ...options, fixtures: { add: "plus" } });
    expect(outcomes(named, "passed")).toEqual(["core/call", "core/result"]);
  });

  test("can be stopped, and returns the results so far", async () => {
    const { http } = await demo();
    const stop = new AbortController();
    const report = await runConformance(httpConformanceWire(http.url), {
      ...patient,
      signal: stop.signal,
      onResult: (_, done) => done === 3 && stop.abort(),
    });
    expect(report).toMatchObject({ state: "stopped", ok: false });
    expect(outcomes(report, "passed")).toHaveLength(3);
    expect(outcomes(report, "skipped")).toHaveLength(conformanceCases.length - 3);
  });

  test("stops also while it waits for an answer", async () => {
    const stop = new AbortController();
    const address = await tcpServer((socket) => socket.once("data", () => stop.abort()));
    const wire = socketConformanceWire(address);
    const report = await runConformance(wire, { signal: stop.signal, timeoutMs: 60_000 });
    expect(report.state).toBe("stopped");
  });

  test("over the platform's WebSocket does without what that cannot send", async () => {
    const { http } = await demo();
    vi.stubGlobal("WebSocket", WebSocket);
    closing.push(() => vi.unstubAllGlobals());
    const wire = webSocketConformanceWire(`${http.url.replace("http", "ws")}/ws`);
    const report = await runConformance(wire, { ...patient, groups: ["core", "batch", "framing"] });
    expect(report).toMatchObject({ ok: true, counts: { MUST: { failed: 0 } } });
    expect(outcomes(report, "failed")).toEqual([]);
    expect(outcomes(report, "passed")).toContain("framing/binary");
    expect(outcomes(report, "skipped")).toContain("framing/fragments");
  });
});

describe("a server that does not answer", () => {
  test("is reported when there is no connection", async () => {
    const port = await ownPort();
    const failed = { code: "CONNECTION_FAILED", message: expect.stringContaining("ECONNREFUSED") };
    await expect(
      runConformance(httpConformanceWire(`http://127.0.0.1:${port}/`)),
    ).rejects.toMatchObject(failed);
    await expect(
      runConformance(socketConformanceWire(`tcp://127.0.0.1:${port}`)),
    ).rejects.toMatchObject(failed);
    await expect(runConformance(stdioConformanceWire("/nonexistent"))).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
  });

  test("is silent if it accepts the connection and does not reply", async () => {
    const wire = memoryLine(() => {});
    const report = await runConformance(wire, impatient);
    expect(report).toMatchObject({
      state: "silent",
      ok: false,
      hint: expect.stringContaining("does not answer"),
      sent: { messages: 1 },
      results: expect.arrayContaining([expect.objectContaining({ outcome: "skipped" })]),
    });
    expect(outcomes(report, "skipped")).toHaveLength(conformanceCases.length);
  });

  test("is dead when a message ends it, and the rest is skipped", async () => {
    const fragile = await fragileServer();
    closing.push(() => fragile.child.kill());
    const report = await runConformance(socketConformanceWire(fragile.address), {
      ...patient,
      groups: ["batch"],
    });
    expect(report).toMatchObject({
      state: "dead",
      ok: false,
      hint: expect.stringContaining("stopped answering after batch/null"),
    });
    const result = report.results.find(({ case: { id } }) => id === "batch/null");
    expect(result).toMatchObject({ outcome: "failed", fault: "dead" });
    expect(outcomes(report, "skipped")).toContain("batch/notifications");
  });

  test("differs from one that does not reply to one message, or disconnects on it", async () => {
    const server = createServer(methods, { log: silentLog });
    closing.push(() => server.close());
    const wire = memoryLine(async (text, listener) => {
      const message = text.trim();
      if (message === "[null]") return;
      if (message === "[{}]") {
        listener.end("hung up");
        return;
      }
      const reply = await server.receive(message);
      if (reply !== undefined) listener.message(reply);
    });
    const cases = ["batch/null", "batch/empty-object", "batch/nested"];
    const report = await runConformance(wire, { cases, ...impatient });
    expect(report).toMatchObject({ state: "finished", ok: false });
    const faults = report.results.map(({ case: { id }, fault }) => [id, fault]);
    expect(faults).toEqual([
      ["batch/null", "silent"],
      ["batch/empty-object", "hung-up"],
      ["batch/nested", undefined],
    ]);
  });

  test("that hangs up on everything but a probe costs no more messages than were announced", async () => {
    const address = await tcpServer((socket) => {
      socket.on("data", (data) => {
        const [, id] = /"id":(9\d{8})/.exec(String(data)) ?? [];
        if (id === undefined || String(data).split("\n").length > 2) return socket.destroy();
        return socket.write(`{"jsonrpc":"2.0","error":{"code":1,"message":"no"},"id":${id}}\n`);
      });
    });
    const report = await runConformance(socketConformanceWire(address), patient);
    expect(report).toMatchObject({ state: "finished", ok: false });
    expect(report.results.find(({ case: { id } }) => id === "core/call")?.fault).toBe("hung-up");
    expect(report.sent.messages).toBeLessThanOrEqual(report.sent.mostMessages);
  });

  test("gets a hint when the path may be wrong", async () => {
    const { http } = await demo();
    const url = new URL("/elsewhere", http.url).href;
    const pages = createHttpServer((_, response) => response.writeHead(404).end("no such page"));
    pages.listen(0, "127.0.0.1");
    await once(pages, "listening");
    closing.push(() => pages.close());
    const options = { ...patient, cases: ["core/call"] };
    expect(await runConformance(httpConformanceWire(url), options)).toMatchObject({
      ok: false,
      hint: expect.stringContaining("404"),
    });
    const { port } = pages.address() as AddressInfo;
    const wire = httpConformanceWire(`http://127.0.0.1:${port}/`);
    expect((await runConformance(wire, options)).hint).toContain("404");
    expect(await runConformance(httpConformanceWire(http.url), options)).not.toHaveProperty("hint");
  });
});

describe("a report", () => {
  async function mixed(): Promise<ConformanceReport> {
    const server = createServer(methods, { log: silentLog, nullParams: "omit" });
    closing.push(() => server.close());
    const tcp = await serveSocket(server, { port: 0 });
    return runConformance(socketConformanceWire(`tcp://127.0.0.1:${tcp.port}`), {
      ...patient,
      groups: ["params", "http"],
    });
  }

  test("counts by level", async () => {
    const { counts, ok } = await mixed();
    expect(ok).toBe(true);
    expect(counts.SHOULD).toMatchObject({ failed: 1 });
    expect(counts.MUST.failed).toBe(0);
  });

  test("as JUnit XML has a suite for each group", async () => {
    const report = await mixed();
    const xml = junitReport(report);
    expect(xml).toContain('<testsuite name="params" tests="12" failures="0" skipped="1"');
    expect(xml).toContain(
      '<skipped message="SHOULD: the code is -32601, expected -32600 or -32602"/>',
    );
    expect(xml).toContain('<skipped message="for HTTP only"/>');
    // Every tag that opens closes again.
    const open: string[] = [];
    for (const [, end, name, empty] of xml.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
      if (end) expect(open.pop()).toBe(name);
      else if (!empty) open.push(name as string);
    }
    expect(open).toEqual([]);
  });

  test("as JUnit XML explains what failed, without what XML cannot hold", async () => {
    const report = await mixed();
    const [first, ...rest] = report.results as [ConformanceResult, ...ConformanceResult[]];
    const exchanges = [{ sent: '<"&\u0000', got: "\ud800" }];
    const failed = { ...first, outcome: "failed", reason: "wrong & <odd>", exchanges } as const;
    const xml = junitReport({ ...report, results: [failed, ...rest] });
    expect(xml).toContain(
      '<failure message="wrong &#38; &#60;odd&#62;">sent: &#60;&#34;&#38;\ufffd',
    );
    expect(xml).toContain("got: \ufffd\n");
    expect(xml).toContain(first.case.section);
  });

  test("as JUnit XML fails when the run was cut short, though no case did", async () => {
    const wire = memoryLine(() => {});
    const xml = junitReport(await runConformance(wire, impatient));
    expect(xml).toMatch(
      /<testcase classname="run" [^>]*><error message="The server does not answer/,
    );
  });

  test("as a badge has the number of MUSTs and a colour", async () => {
    const report = await mixed();
    const message = `${report.counts.MUST.passed} of ${report.counts.MUST.passed} MUST`;
    const badge = { schemaVersion: 1, label: "JSON-RPC 2.0", message };
    expect(conformanceBadge(report)).toEqual({ ...badge, color: "yellowgreen" });
    expect(conformanceBadge({ ...report, ok: false }).color).toBe("red");
    const { SHOULD } = report.counts;
    const counts = { ...report.counts, SHOULD: { ...SHOULD, failed: 0 } };
    expect(conformanceBadge({ ...report, counts }).color).toBe("brightgreen");
  });
});

/** A server in its own process, which `[null]` ends. */
async function fragileServer(): Promise<{ child: ChildProcess; address: string }> {
  const program = `
    const server = require("node:net").createServer((socket) => {
      socket.on("error", () => {}).setEncoding("utf8").on("data", (text) => {
        for (const line of text.split("\\n").filter(Boolean)) {
          if (line === "[null]") process.exit(1);
          let id = null;
          try { id = JSON.parse(line).id ?? null; } catch {}
          socket.write(JSON.stringify({ jsonrpc: "2.0", error: { code: -32601, message: "no" }, id }) + "\\n");
        }
      });
    });
    server.listen(0, "127.0.0.1", () => console.log(server.address().port));
  `;
  const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return { child, address: `tcp://127.0.0.1:${String(port).trim()}` };
}
