import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient, createServer, type Middleware, RpcError, silentLog } from "callwire";
import {
  type AuditLogOptions,
  type AuditSink,
  auditLog,
  authenticate,
  discloseErrors,
} from "callwire/security";
import { auditFile } from "callwire/security/node";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { json, send, serve } from "../transports/http/wire.ts";
import { ann, byToken, counted, request, trail } from "./serving.ts";

function guarded(sink: AuditSink, options?: AuditLogOptions) {
  return { use: [auditLog(sink, options), authenticate(byToken, { anonymous: ["echo"] })] };
}

test("a call that middleware fails later is a line too", async () => {
  const { lines, sink } = trail();
  const failing: Middleware = (next) => async (request, context) => {
    await next(request, context);
    throw new RpcError(7, "the disk is full");
  };
  const server = createServer({ echo: () => 1 }, { use: [auditLog(sink), failing] });
  expect(await server.receive(request("echo"))).toContain('"code":7');
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ method: "echo", code: 7 }]);
});

test("each decision is one line of JSON: principal, method, address and reason", async () => {
  const { lines, sink } = trail();
  const { port } = await serve(counted().methods, {}, guarded(sink));
  const ask = (headers: object, method: string) =>
    send(port, { headers: { ...json, ...headers }, body: request(method, [], "x") });
  await ask(ann, "who");
  await ask({}, "who");
  await ask(ann, "system/reset");
  await ask(ann, "fail");
  await ask(ann, "none");
  const call = {
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    event: "call",
    decision: "allow",
    id: "x",
    principal: "ann",
    wire: "http",
    address: "127.0.0.1",
  };
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    { ...call, method: "who" },
    {
      ...call,
      decision: "deny",
      method: "who",
      principal: undefined,
      reason: "no credential",
      code: -32001,
    },
    {
      ...call,
      decision: "deny",
      method: "system/reset",
      reason: "the access rule of the method",
      code: -32601,
    },
    { ...call, method: "fail", code: -32603, correlationId: expect.any(String) },
    {
      ...call,
      decision: "deny",
      method: "none",
      reason: "the method does not exist",
      code: -32601,
    },
  ]);
  for (const line of lines) expect(line).not.toContain("token-of-ann");
});

test("connections are decisions too", async () => {
  const { lines, sink } = trail();
  const use = [auditLog(sink), authenticate(byToken)];
  const http = await serve(counted().methods, {}, { use });
  await using client = createClient(webSocketLink(http.url, { headers: ann }));
  await client.call("who");
  await using stranger = createClient(webSocketLink(http.url, { reconnect: false }));
  await expect(stranger.call("who")).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  expect(
    lines.map((line) => {
      const { event, decision, principal, method } = JSON.parse(line);
      return [event, decision, principal, method];
    }),
  ).toEqual([
    ["connection", "allow", "ann", undefined],
    ["call", "allow", "ann", "who"],
    ["connection", "deny", undefined, undefined],
  ]);
});

test("no input of a caller makes a second line, or an endless one", async () => {
  const { lines, sink } = trail();
  const server = createServer(counted().methods, { ...guarded(sink), log: silentLog });
  for (const c of ["\r\n", "\n", "\u2028", "\u2029", "\u0085", "\u001b[2J", "\0", "\u007f"]) {
    void server.receive(request(`who${c}{"decision":"allow"}`));
  }
  void server.receive(request("x".repeat(100_000)));
  expect(lines).toHaveLength(9);
  for (const line of lines) {
    expect(line).toMatch(/^[\x20-\x7e…]+\n$/);
    expect(line.length).toBeLessThan(1_000);
    expect(JSON.parse(line).decision).toBe("deny");
  }
});

test("a result that cannot be serialized is logged as a failure", async () => {
  const { lines, sink } = trail();
  const cycle: unknown[] = [];
  cycle.push(cycle);
  const methods = { huge: () => 1n, round: () => Promise.resolve(cycle), fine: () => 1 };
  const { port } = await serve(
    methods,
    {},
    { use: [auditLog(sink), discloseErrors()], log: silentLog },
  );
  const told: unknown[] = [];
  for (const method of Object.keys(methods)) {
    const { text } = await send(port, { body: request(method) });
    told.push(JSON.parse(text).error?.data.correlationId);
  }
  const seen = lines.map((line) => {
    const { event, decision, method, id, code, correlationId } = JSON.parse(line);
    return [event, decision, method, id, code, correlationId];
  });
  expect(seen).toEqual([
    ["call", "allow", "huge", 1, undefined, undefined],
    ["reply", undefined, "huge", 1, -32603, told[0]],
    ["call", "allow", "round", 1, undefined, undefined],
    ["reply", undefined, "round", 1, -32603, told[1]],
    ["call", "allow", "fine", 1, undefined, undefined],
  ]);
  expect(told).toEqual([expect.any(String), expect.any(String), undefined]);
});

test("can be limited to denied calls", async () => {
  const { lines, sink } = trail();
  const use = [
    auditLog(sink, { decisions: "denied" }),
    authenticate(byToken, { anonymous: ["echo", "huge"] }),
  ];
  const methods = { ...counted().methods, huge: () => 1n };
  const server = createServer(methods, { use, log: silentLog });
  void server.receive(request("echo"));
  void server.receive(request("huge"));
  void server.receive(request("who"));
  expect(lines.map((line) => JSON.parse(line).method)).toEqual(["who"]);
});

const failures: [string, AuditSink][] = [
  [
    "throws",
    () => {
      throw new Error("no space left on device");
    },
  ],
  ["rejects", () => Promise.reject(new Error("no space left on device"))],
];

describe.each(failures)("a sink that %s", (_, sink) => {
  test("does not stop the service, and is logged once", async () => {
    const count = counted();
    const logged: string[] = [];
    const log = { ...silentLog, error: (_: object, message: string) => void logged.push(message) };
    const { port } = await serve(count.methods, {}, { ...guarded(sink), log });
    for (let i = 0; i < 3; i++) {
      expect((await send(port, { body: request("echo", [i]) })).text).toContain(`"result":${i}`);
    }
    expect(logged).toEqual(["audit log cannot be written"]);
  });

  test("stops every call where it fails closed, before it runs", async () => {
    const count = counted();
    const http = await serve(count.methods, {}, guarded(sink, { failClosed: true }));
    const { status, text } = await send(http.port, { body: request("echo") });
    expect(status).toBe(503);
    expect(text).toContain("-32005");
    await using client = createClient(webSocketLink(http.url, { reconnect: false }));
    await expect(client.call("echo")).rejects.toMatchObject({ status: 503 });
    expect(count.calls).toBe(0);
  });
});

test("if it fails closed, each call is logged before it runs", () => {
  const events: string[] = [];
  const sink = (line: string) => void events.push(JSON.parse(line).event);
  const methods = { run: () => void events.push("run") };
  const server = createServer(methods, { use: [auditLog(sink, { failClosed: true })] });
  void server.receive(request("run"));
  expect(events).toEqual(["attempt", "run", "call"]);
});

test("a slow sink gets a bounded number of lines", async () => {
  let resolve = (): void => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  let taken = 0;
  const sink = () => {
    taken++;
    return promise;
  };
  const server = createServer(counted().methods, {
    use: [auditLog(sink, { maxPending: 10 })],
    log: silentLog,
  });
  for (let i = 0; i < 100; i++) void server.receive(request("echo"));
  expect(taken).toBe(10);
  resolve();
  await promise;
  await new Promise((later) => setImmediate(later));
  void server.receive(request("echo"));
  expect(taken).toBe(11);
});

test("lost lines are counted, and the next line has their number", () => {
  let isFull = true;
  const sink: AuditSink = () => {
    if (isFull) throw new Error("no space left on device");
  };
  const logged: unknown[] = [];
  const warn = (fields: object) => void logged.push(fields);
  const server = createServer(counted().methods, {
    use: [auditLog(sink)],
    log: { ...silentLog, warn, error: (_: object, message: string) => void logged.push(message) },
  });
  for (let i = 0; i < 3; i++) void server.receive(request("echo"));
  isFull = false;
  for (let i = 0; i < 2; i++) void server.receive(request("echo"));
  expect(logged).toEqual(["audit log cannot be written", { lost: 3 }]);
});

describe("a file whose last line broke off", () => {
  function emptyFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), "callwire-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return folder;
  }

  test("before the process began gets the next line on a line of its own", async () => {
    const path = join(emptyFolder(), "audit.log");
    writeFileSync(path, '{"whole":1}\n{"bro');
    const sink = auditFile(path);
    await sink("a\n");
    await sink("b\n");
    expect(readFileSync(path, "utf8")).toBe('{"whole":1}\n{"bro\na\nb\n');
  });

  test("because the disk was full gets the next line on a line of its own", async () => {
    const path = join(emptyFolder(), "audit.log");
    const sink = auditFile(path);
    await sink("a\n");
    const file = await open(path);
    const handles: FileHandle = Object.getPrototypeOf(file);
    await file.close();
    const full = vi.spyOn(handles, "appendFile").mockImplementationOnce(async () => {
      appendFileSync(path, '{"bro');
      throw new Error("ENOSPC: no space left on device, write");
    });
    onTestFinished(() => full.mockRestore());
    await expect(sink('{"broken":1}\n')).rejects.toThrow("ENOSPC");
    await sink("b\n");
    expect(readFileSync(path, "utf8")).toBe('a\n{"bro\nb\n');
  });
});

test("a file gets each line, only its user reads it, and it may be moved away", async () => {
  const folder = mkdtempSync(join(tmpdir(), "callwire-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "audit.log");
  const sink = auditFile(path);
  await Promise.all(Array.from({ length: 50 }, (_, i) => sink(`${i}\n`)));
  const written = Array.from({ length: 50 }, (_, i) => `${i}\n`).join("");
  expect(readFileSync(path, "utf8")).toBe(written);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  renameSync(path, `${path}.1`);
  await sink("new\n");
  expect(readFileSync(path, "utf8")).toBe("new\n");
  await expect(auditFile(join(folder, "none", "audit.log"))("x\n")).rejects.toThrow("ENOENT");
});
