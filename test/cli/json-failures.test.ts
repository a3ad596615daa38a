/** With --json standard output is JSON, whatever happens. */
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isFull } from "../full.ts";
import { build, finish, start, startDemo } from "./process.ts";

let folder: string;
let recording: string;
let calls: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-json-"));
  recording = join(folder, "recording.jsonl");
  calls = join(folder, "calls");
  const message = { jsonrpc: "2.0", method: "add", params: [1, 2], id: 1 };
  const line = { time: "2026-01-01T00:00:00Z", connection: 1, wire: "http", from: "client" };
  await writeFile(recording, JSON.stringify({ ...line, message }));
  await writeFile(calls, "add 1 2");
  await build();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const dead = "http://127.0.0.1:1/rpc";

/** Verbs that connect and report failures like those in the test. */
const otherVerbs: [string[], exitCode: number, code: string][] = [
  [["stream", dead, "count"], 3, "CONNECTION_FAILED"],
  [["conform", dead], 3, "CONNECTION_FAILED"],
  [["discover", dead], 3, "CONNECTION_FAILED"],
  [["top", dead, "--once"], 3, "CONNECTION_FAILED"],
  [["audit", "tcp://127.0.0.1:1"], 3, "CONNECTION_FAILED"],
];

test.each<[string[], exitCode: number, code: string]>([
  [["call", dead, "add"], 3, "CONNECTION_FAILED"],
  [["inspect", dead], 3, "CONNECTION_FAILED"],
  [["bench", dead, "add"], 3, "CONNECTION_FAILED"],
  [["top", dead], 3, "CONNECTION_FAILED"],
  [["audit", dead], 3, "CONNECTION_FAILED"],
  [["mcp", dead, "tools"], 3, "CONNECTION_FAILED"],
  ...(isFull ? otherVerbs : []),
  [["inspect"], 2, "USAGE"],
  [["call", dead, "add", "--nope"], 2, "USAGE"],
  [["nope"], 2, "USAGE"],
])("callwire %j --json", async (args, exitCode, code) => {
  const exit = await finish([...args, "--json"]);
  const { error } = JSON.parse(exit.stdout) as { error: { code: string; message: string } };
  expect(error.code).toBe(code);
  expect(exit.stderr).toBe(`callwire: ${error.message}\n`);
  expect(exit.code).toBe(exitCode);
});

const signals = { SIGINT: 130, SIGTERM: 143 } as const;

const waiting: [verb: string, args: (url: string) => string[]][] = [
  ["call", (url) => [url, "add"]],
  ["stream", (url) => [url, "count"]],
  ["inspect", (url) => [url]],
  ["bench", (url) => [url, "add"]],
  ["top", (url) => [url]],
  ["discover", (url) => [url]],
  ["audit", (url) => [url]],
  ["replay", (url) => [recording, url]],
  // A WebSocket that is never opened.
  ["batch", (url) => [url.replace("http", "ws"), calls]],
  ["inspect", (url) => [url.replace("http", "ws")]],
];

describe.each(["SIGINT", "SIGTERM"] as const)("%s", (signal) => {
  // The verbs treat the two signals alike.
  test.each(signal === "SIGINT" || isFull ? waiting : waiting.slice(0, 1))(
    "while callwire %s --json waits",
    async (verb, args) => {
      const silent = createServer(() => {}).listen(0, "127.0.0.1");
      const asked = Promise.race([once(silent, "request"), once(silent, "upgrade")]);
      await once(silent, "listening");
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      await using running = start([verb, ...args(url), "--json"]);
      await asked;
      running.child.kill(signal);
      const { code, stdout } = await running.exited;
      silent.closeAllConnections();
      silent.close();
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: "CANCELLED" } });
      expect(code).toBe(signals[signal]);
    },
  );
});

test.each(["batch", "inspect"])(
  "callwire %s waits for a WebSocket as long as for an answer",
  async (verb) => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const url = `ws://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const rest = verb === "batch" ? [calls] : [];
    silent.on("upgrade", (_, socket) => socket.on("error", () => {}));
    const { code, stdout } = await finish([verb, url, ...rest, "--timeout", "50ms", "--json"]);
    silent.close();
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "TIMEOUT" } });
    expect(code).toBe(3);
  },
);

test("what was shown already is not shown again", async () => {
  await using demo = await startDemo();
  const args = ["mcp", `${demo.origin}/mcp`, "call", "math_sqrt", "x=-1", "--json"];
  const { code, stdout } = await finish(args);
  expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  expect(code).toBe(1);
});
