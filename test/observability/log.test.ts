import {
  createClient,
  createServer,
  ErrorCode,
  type Log,
  RpcError,
  silentLog,
  stream,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { type CallEntry, type LoggingOptions, lineLog, logging } from "callwire/observability";
import { discloseErrors } from "callwire/security";
import { webSocketLink } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { type LogEntry, RecordingLog, requestText } from "../server/asking.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  login: (params: unknown) => ({ token: "t0ps3cret", params }),
  fail: () => {
    throw new RpcError(1001, "Too long", { password: "x", length: 3 });
  },
  crash: () => {
    throw new Error("database at 10.0.0.1 is down");
  },
  later: async (value: unknown) => value,
  never: () => new Promise(() => {}),
  count: stream({}, async function* () {
    yield 1;
    yield 2;
  }),
};

function watched(options: LoggingOptions = {}): {
  server: ReturnType<typeof createServer<typeof methods>>;
  log: RecordingLog;
} {
  const log = new RecordingLog();
  const server = createServer(methods, { use: [logging({ log, ...options })], log: silentLog });
  return { server, log };
}

function fieldsOf({ entries }: RecordingLog): CallEntry[] {
  return entries.map(({ fields }) => fields as unknown as CallEntry);
}

describe("one entry per call", () => {
  test("it has the id, method, transport, duration, sizes and outcome", () => {
    const { server, log } = watched();
    const text = requestText("add", [2, 3]);
    const reply = server.receive(text) as string;
    const [{ level, message, fields }] = log.entries as [LogEntry];
    expect({ level, message }).toEqual({ level: "info", message: "call" });
    expect(fields).toMatchObject({
      side: "in",
      id: 1,
      method: "add",
      transport: "direct",
      outcome: "ok",
      requestSize: text.length,
      replySize: reply.length,
      connection: expect.any(Number),
      durationMs: expect.any(Number),
    });
    expect(fields).not.toHaveProperty("params");
  });

  test("a synchronous call stays synchronous", () => {
    expect(typeof watched().server.receive(requestText("add", [2, 3]))).toBe("string");
  });

  test("each entry of a batch has its own, with its place and its size", async () => {
    const { server, log } = watched();
    const entries = [
      requestText("add", [2, 3]),
      requestText("later", ["x"], { id: "two" }),
      "7",
      `{"jsonrpc":"2.0","method":"add","params":[1,1]}`,
    ];
    await server.receive(`[ ${entries.join(" , ")} ]`);
    const seen = fieldsOf(log).sort((a, b) => (a.entry ?? 0) - (b.entry ?? 0));
    expect(seen.map(({ entry, id, method, outcome }) => ({ entry, id, method, outcome }))).toEqual([
      { entry: 0, id: 1, method: "add", outcome: "ok" },
      { entry: 1, id: "two", method: "later", outcome: "ok" },
      { entry: 2, id: undefined, method: undefined, outcome: "refused" },
      { entry: 3, id: undefined, method: "add", outcome: "ok" },
    ]);
    expect(seen.map(({ requestSize }) => requestSize)).toEqual(entries.map(({ length }) => length));
    expect(new Set(seen.map(({ connection }) => connection)).size).toBe(1);
  });

  test("errors have their code; faults of this side are errors, those of callers warnings", async () => {
    const { server, log } = watched();
    server.receive(requestText("fail"));
    server.receive(requestText("crash"));
    server.receive(requestText("nothing"));
    expect(log.entries.map(({ level, fields }) => [level, fields.code, fields.error])).toEqual([
      ["warn", 1001, "Too long"],
      ["error", ErrorCode.InternalError, "Internal error"],
      ["warn", ErrorCode.MethodNotFound, "Method not found"],
    ]);
    expect(JSON.stringify(log.entries)).not.toContain("database");
  });

  test("internal errors have the id under which the server's log has what was thrown", async () => {
    const thrown = new RecordingLog();
    for (const use of [[], [discloseErrors()]]) {
      const log = new RecordingLog();
      const server = createServer(methods, { use: [logging({ log }), ...use], log: thrown });
      void server.receive(requestText("crash"));
      void server.receive(requestText("fail"));
      const [crash, fail] = fieldsOf(log);
      expect(crash?.correlationId).toMatch(/^[\da-f-]{36}$/);
      expect(crash?.correlationId).toBe(thrown.entries.at(-1)?.fields["correlationId"]);
      expect(fail?.correlationId).toBeUndefined();
    }
  });

  test.each([
    ["what is not JSON", "{", ErrorCode.ParseError],
    ["an empty batch", "[]", ErrorCode.InvalidRequest],
    ["a call without a version", `{"method":"add","id":1}`, ErrorCode.InvalidRequest],
  ])("%s is refused, and written down", (_, text, code) => {
    const { server, log } = watched();
    server.receive(text);
    expect(fieldsOf(log)).toMatchObject([{ outcome: "refused", code }]);
  });

  test("a call that the server has no room for is refused", async () => {
    const log = new RecordingLog();
    const server = createServer(methods, { use: [logging({ log })], maxRunning: 1 });
    void server.receive(requestText("never"));
    void server.receive(requestText("add", [1, 2], { id: 2 }));
    expect(fieldsOf(log)).toMatchObject([
      { id: 2, outcome: "refused", code: ErrorCode.ServerBusy },
    ]);
    await server.close({ drainMs: 0 });
    expect(fieldsOf(log)[1]).toMatchObject({ method: "never", code: ErrorCode.ShuttingDown });
  });

  test("a timeout is logged as the caller sees it", async () => {
    const { server, log } = watched();
    await server.receive(requestText("never", [], { timeoutMs: 1 }));
    expect(fieldsOf(log)).toMatchObject([{ method: "never", code: ErrorCode.RequestTimeout }]);
  });

  test("a slow call is marked and a warning", async () => {
    const { server, log } = watched({ slowMs: -1 });
    server.receive(requestText("add", [2, 3]));
    expect(log.entries).toMatchObject([
      { level: "warn", message: "slow call", fields: { slow: true, outcome: "ok" } },
    ]);
  });

  test("levels may be chosen, and an entry dropped", () => {
    const { server, log } = watched({
      level: "debug",
      levelOf: ({ method }) => (method === "add" ? undefined : "debug"),
    });
    server.receive(requestText("add", [2, 3]));
    server.receive(requestText("fail"));
    expect(log.entries).toMatchObject([{ level: "debug", fields: { method: "fail" } }]);
    const quiet = watched({ level: "error" });
    quiet.server.receive(requestText("fail"));
    expect(quiet.log.entries).toEqual([]);
  });

  test("the trace that a caller names is in the entry", () => {
    const { server, log } = watched();
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
    server.receive(requestText("add", [2, 3], { traceparent }));
    server.receive(requestText("login", { _meta: { traceparent } }));
    server.receive(requestText("add", [2, 3], { traceparent: "00-nonsense" }));
    expect(fieldsOf(log).map((entry) => entry.traceId)).toEqual([traceId, traceId, undefined]);
  });
});

describe("over wires", () => {
  test("HTTP and WebSocket log transport, connection and principal; the client logs its side", async () => {
    const { server, log } = watched();
    const http = await serveHttp(server, {
      port: 0,
      webSocket: { verify: () => ({ principal: { id: "ada" } }) },
    });
    const own = new RecordingLog();
    const use = [logging({ log: own })];
    const overHttp = createClient<typeof methods>(httpLink(http.url), { use });
    const overWs = createClient<typeof methods>(webSocketLink(http.url.replace("http", "ws")), {
      use,
    });
    await overHttp.api.add(1, 2);
    await overWs.api.add(1, 2);
    await overWs.api.later("x");
    for await (const _ of overWs.stream("count"));
    await expect(overHttp.call("fail")).rejects.toThrow("Too long");
    expect(
      fieldsOf(log).map(({ transport, method, principal }) => [transport, method, principal]),
    ).toEqual([
      ["http", "add", undefined],
      ["websocket", "add", "ada"],
      ["websocket", "later", "ada"],
      ["websocket", "count", "ada"],
      ["http", "fail", undefined],
    ]);
    const [, first, second, third] = fieldsOf(log).map(({ connection }) => connection);
    expect(new Set([first, second, third]).size).toBe(1);
    expect(fieldsOf(own)).toMatchObject([
      { side: "out", method: "add", outcome: "ok" },
      { side: "out", method: "add", outcome: "ok" },
      { side: "out", method: "later", outcome: "ok" },
      { side: "out", method: "count", outcome: "ok" },
      { side: "out", method: "fail", outcome: "error", code: 1001 },
    ]);
    await Promise.all([overHttp.close(), overWs.close()]);
    await server.close();
    await expect(overHttp.api.add(1, 2)).rejects.toThrow();
    expect(fieldsOf(own).at(-1)).toMatchObject({ outcome: "failed", code: "CLOSED" });
  });
});

describe("bodies", () => {
  test("are shown by option, without what secret names hold", () => {
    const { server, log } = watched({ bodies: true });
    server.receive(
      requestText("login", { user: "ada", Pass_Word: "p", deep: [{ "api-key": "k" }] }),
    );
    server.receive(requestText("fail"));
    const [login, fail] = fieldsOf(log) as [CallEntry, CallEntry];
    expect(JSON.parse(JSON.stringify(login))).toMatchObject({
      params: { user: "ada", Pass_Word: "[redacted]", deep: [{ "api-key": "[redacted]" }] },
      result: { token: "[redacted]" },
    });
    expect(JSON.parse(JSON.stringify(fail.data))).toEqual({ password: "[redacted]", length: 3 });
    expect(JSON.stringify(log.entries)).not.toContain("t0ps3cret");
  });

  test("are hidden by path and capped in size", () => {
    const { server, log } = watched({
      bodies: { paths: ["params.user.*.iban", "params[0].card", "result"], maxLength: 100 },
    });
    server.receive(requestText("login", { user: { a: { iban: "DE12" }, b: { iban: "FR3" } } }));
    server.receive(requestText("later", [{ card: "4111" }, "x".repeat(10_000)]));
    const text = JSON.stringify(log.entries);
    for (const secret of ["DE12", "FR3", "4111", "t0ps3cret"]) expect(text).not.toContain(secret);
    expect(text.length).toBeLessThan(2000);
  });
});

describe("a sink that fails", () => {
  test("stops no call, on neither side, and is reported once", async () => {
    const broken = (): never => {
      throw new Error("the disk is full");
    };
    const sink: Log = { debug: broken, info: broken, warn: broken, error: broken };
    const log = new RecordingLog();
    const server = createServer(methods, { use: [logging({ log: sink })], log });
    for (let i = 0; i < 3; i++) {
      expect(JSON.parse(server.receive(requestText("add", [2, 3])) as string)).toMatchObject({
        result: 5,
      });
    }
    expect(log.entries).toMatchObject([
      { level: "error", message: "a watch threw; its further errors are not logged" },
    ]);
    const http = await serveHttp(server, { port: 0 });
    const client = createClient<typeof methods>(httpLink(http.url), {
      use: [logging({ log: sink })],
    });
    expect(await client.api.add(2, 3)).toBe(5);
    await client.close();
    await server.close();
  });
});

describe("lines", () => {
  const hostile = 'a\nb\r\t\u001b[2J\u0007\u0000\u007f\u009b31m\u2028\u2029\u202e"\\';

  test.each([true, false])("nothing in a message breaks its line (pretty: %s)", (pretty) => {
    const lines: string[] = [];
    const log = lineLog({ pretty, write: (line) => lines.push(line) });
    const server = createServer(methods, {
      use: [logging({ log, bodies: true })],
    });
    void server.receive(requestText(hostile, { [hostile]: hostile }, { id: hostile }));
    expect(lines).toHaveLength(1);
    // Only our own colours are escapes.
    const [line = ""] = lines.map((text) => text.replaceAll(/\p{Cc}\[\d+m/gu, ""));
    expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
    expect(line).toContain("\\n");
  });

  test("machines get JSON with time and level", () => {
    const lines: string[] = [];
    const log = lineLog({ pretty: false, write: (line) => lines.push(line) });
    log.warn({ err: new Error("no"), big: 10n, method: "add" }, "said");
    const [entry] = lines.map((line) => JSON.parse(line));
    expect(entry).toMatchObject({ level: "warn", msg: "said", big: "10", method: "add" });
    expect(entry.err.message).toBe("no");
    expect(new Date(entry.time).getTime()).toBeGreaterThan(0);
  });
});
