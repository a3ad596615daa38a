import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { createServer, silentLog } from "callwire";
import { serveStdio } from "callwire/stdio";
import { describe, expect, test } from "vitest";
import { bundle } from "../bundle.ts";
import { aMoment, standstill } from "../standstill.ts";
import { RawChild } from "./raw-child.ts";

const tool = bundle(new URL("./fixtures/tool.ts", import.meta.url));
const start = (habit = "none"): RawChild => new RawChild(process.execPath, [tool, habit]);
const call = (id: number, method: string, params?: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params, id });
const result = (id: number, value: unknown): string =>
  JSON.stringify({ jsonrpc: "2.0", result: value, id });

describe("standard output", () => {
  test("carries messages only, whatever methods print", async () => {
    const child = start();
    child.send(call(1, "chat"), call(2, "echo", ["é\u2028😀"]));
    child.process.stdin.end();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    const escaped = result(2, "é\u2028😀").replace("\u2028", "\\u2028");
    expect(child.stdout).toBe(`${result(1, "said")}\n${escaped}\n`);
    for (const said of ["log", "info", "debug", "{ dir: 1 }", "table", "written"]) {
      expect(child.stderr).toContain(said);
    }
  });

  test("belongs to the program again when the wire has ended", async () => {
    const child = start("goodbye");
    child.send(call(1, "echo", [1])).process.stdin.end();
    await child.ended;
    expect(child.stdout).toBe(`${result(1, 1)}\ngoodbye\n`);
  });

  test("whose reader is gone ends the command without a crash", async () => {
    const child = start();
    child.process.stdout.destroy();
    child.send(call(1, "echo", ["x".repeat(100_000)]));
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stderr).toBe("closed\n");
  });

  test("that is not read for now holds back the calls, not the memory", async () => {
    const child = start();
    child.process.stdout.pause();
    const most = 300;
    for (let id = 1; id <= most; id++) child.send(call(id, "big", { bytes: 100_000 }));
    await child.heard("stderr", "1\n");
    await standstill(() => child.stderr, aMoment);
    // A mebibyte waits there, and a pipe holds 64 KiB.
    expect(child.stderr.trim().split("\n").length).toBeLessThan(50);
    child.process.stdout.resume();
    child.process.stdin.end();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stdout.trim().split("\n")).toHaveLength(most);
  });
});

describe("the end of standard input", () => {
  test("ends a process that has nothing to do, with code 0", async () => {
    const child = start();
    child.process.stdin.end();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stdout).toBe("");
    expect(child.stderr).toBe("closed\n");
  });

  test("lets a running call finish first", async () => {
    const child = start();
    child.send(call(1, "slow", { ms: 300 }), call(2, "slow", { ms: 1 })).process.stdin.end();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stdout).toBe(`${result(2, "slept")}\n${result(1, "slept")}\n`);
  });

  test("lets a running batch finish, all of it", async () => {
    const child = start();
    const slow = Array.from({ length: 40 }, (_, i) => call(i, "slow", { ms: 1 }));
    child.send(`[${slow.join(",")}]`).process.stdin.end();
    await child.ended;
    expect(JSON.parse(child.stdout)).toHaveLength(40);
    expect(child.stdout).not.toContain("error");
  });

  test("fails calls to the parent, because no answer can arrive", async () => {
    const child = start();
    child.send(call(1, "ask"));
    await child.heard("stdout", '"method":"answer"');
    child.process.stdin.end();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stdout).toContain('"error":{"code":-32603');
  });

  test("may replace the last line feed", async () => {
    const child = start();
    child.process.stdin.end(call(1, "slow", { ms: 1 }));
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(child.stdout).toBe(`${result(1, "slept")}\n`);
  });

  test("in the middle of a message is the same end", async () => {
    const child = start();
    child.process.stdin.end('{"jsonrpc":"2.0","me');
    expect(await child.ended).toEqual({ code: 0, signal: null });
  });
});

test("a stream ends when its reader is gone", async () => {
  const child = start();
  child.send(call(1, "ticks"));
  await child.heard("stdout", '"value":100');
  child.process.stdout.destroy();
  child.process.stdin.destroy();
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(child.stderr).toContain("left\n");
});

/** A call that has no answer before it did not run. */
const lastWord =
  '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down","data":{"ran":false,"reason":"stopping"}},"id":null}';

test("a server that closes releases its input, although the parent holds it open", async () => {
  const child = start();
  child.send(call(1, "slow", { ms: 50 }), call(2, "echo", [1]));
  await child.heard("stdout", result(2, 1));
  child.process.kill("SIGUSR2");
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(child.stdout).toBe(`${result(2, 1)}\n${result(1, "slept")}\n${lastWord}\n`);
});

test("other streams than the standard ones are served, and ended", async () => {
  const server = createServer({ echo: (value: unknown) => value }, { log: silentLog });
  const input = new PassThrough();
  const output = new PassThrough();
  const { closed } = serveStdio(server, { input, output, framing: "content-length" });
  const all = text(output);
  input.end(`Content-Length: 56\r\n\r\n${call(1, "echo", ["hi"])}`);
  expect(await all).toBe(`Content-Length: 38\r\n\r\n${result(1, "hi")}`);
  await closed;
});

test("two of them in one process do not disturb each other", async () => {
  const server = createServer({ echo: (value: unknown) => value }, { log: silentLog });
  const ends = [1, 2].map((id) => {
    const input = new PassThrough();
    const output = new PassThrough();
    serveStdio(server, { input, output });
    input.write(`${call(id, "echo", [id])}\n`);
    return output;
  });
  const replies = await Promise.all(
    ends.map(async (output) => String((await once(output, "data"))[0])),
  );
  expect(replies).toEqual([`${result(1, 1)}\n`, `${result(2, 2)}\n`]);
  await server.close();
});
