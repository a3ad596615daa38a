import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createServer, type Methods, method, type Server, silentLog, stream } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build, cli, finish, start } from "./process.ts";

const run = promisify(execFile);

let methods: Methods;
let server: Server;
let http: HttpServer;
let stopped: (() => void) | undefined;

beforeAll(async () => {
  await build();
  methods = {
    count: stream({}, function* () {
      for (let n = 0; n < 3; n++) yield { n };
    }),
    forever: stream({}, async function* (_, { signal }) {
      try {
        for (let n = 0; !signal.aborted; n++) {
          yield n;
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        stopped?.();
      }
    }),
    fails: stream({}, function* () {
      yield 1;
      throw new Error("no more");
    }),
    plain: method({}, () => 5),
    nothing: method({}, () => {}),
    empty: stream({}, function* () {}),
  };
  server = createServer(methods, { log: silentLog });
  http = await serveHttp(server, { port: 0 });
});

afterAll(() => server?.close({ drainMs: 0 }));

const urls = () => ({ http: http.url, ws: `${http.url.replace(/^http/, "ws")}/ws` });

test.each(["http", "ws"] as const)("each item is a line of JSON, over %s", async (wire) => {
  const { code, stdout, stderr } = await finish(["stream", urls()[wire], "count"]);
  expect(stdout).toBe('{"n":0}\n{"n":1}\n{"n":2}\n');
  expect(stderr).toBe("");
  expect(code).toBe(0);
});

test.each(["http", "ws"] as const)("Ctrl-C stops the producer, over %s", async (wire) => {
  const end = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  await using reading = start(["stream", urls()[wire], "forever"]);
  await reading.shown(/^3$/m);
  reading.child.kill("SIGINT");
  await end;
  const { code, stderr } = await reading.exited;
  expect(stderr).toMatch(/^callwire: forever was cancelled after \d+ items\n$/);
  expect(code).toBe(130);
});

test("a reader that exits early, such as head, stops the producer", async () => {
  const end = new Promise<void>((resolve) => {
    stopped = resolve;
  });
  const line = `"${process.execPath}" "${cli}" stream ${http.url} forever | head -2`;
  const { stdout, stderr } = await run("sh", ["-c", line]);
  expect(stdout).toBe("0\n1\n");
  expect(stderr).toBe("");
  await end;
});

test("--timeout ends a stream", async () => {
  const { code, stderr } = await finish(["stream", http.url, "forever", "--timeout", "50ms"]);
  expect(stderr).toMatch(/forever reached its --timeout after \d+ items?/);
  expect(code).toBe(3);
});

test("a stream that fails shows the items before the failure, and the error", async () => {
  expect(await finish(["stream", http.url, "fails"])).toEqual({
    code: 1,
    stdout: "1\n",
    stderr: "callwire: fails answered -32603 Internal error\n",
  });
});

describe("a method that does not stream", () => {
  test.each(["http", "ws"] as const)("is an error with its result, over %s", async (wire) => {
    expect(await finish(["stream", urls()[wire], "plain"])).toEqual({
      code: 1,
      stdout: "",
      stderr: 'callwire: plain is not a stream; it answered 5. Use "callwire call"\n',
    });
  });

  test("is one also without a result", async () => {
    const { code, stderr } = await finish(["stream", http.url, "nothing"]);
    expect(stderr).toMatch(/^callwire: nothing is not a stream; it answered null/);
    expect(code).toBe(1);
  });

  test("is recognized by its result if the server does not describe itself", async () => {
    const quiet = createServer(methods, { discover: false });
    const { url } = await serveHttp(quiet, { port: 0 });
    expect(await finish(["stream", url, "plain"])).toMatchObject({ code: 1 });
    const { code, stderr } = await finish(["stream", url, "nothing"]);
    expect(stderr).toBe(
      'callwire: the stream had no items; if nothing is not a stream, use "callwire call"\n',
    );
    expect(code).toBe(0);
    await quiet.close({ drainMs: 0 });
  });

  test("is not one of a stream without items", async () => {
    expect(await finish(["stream", http.url, "empty"])).toEqual({
      code: 0,
      stdout: "",
      stderr: "callwire: the stream had no items\n",
    });
  });
});

test("--json has a line for each item, and one for what went wrong", async () => {
  expect(await finish(["stream", http.url, "count", "--json"])).toMatchObject({
    code: 0,
    stdout: '{"n":0}\n{"n":1}\n{"n":2}\n',
  });
  const { stdout } = await finish(["stream", http.url, "fails", "--json"]);
  expect(stdout).toBe('1\n{"error":{"code":-32603,"message":"Internal error"}}\n');
});
