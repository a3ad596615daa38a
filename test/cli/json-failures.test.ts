/** With --json standard output is JSON, whatever happens. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { build, finish, start, startDemo } from "./process.ts";

beforeAll(build, 60_000);

const dead = "http://127.0.0.1:1/rpc";

test.each<[string[], exitCode: number, code: string]>([
  [["call", dead, "add"], 3, "CONNECTION_FAILED"],
  [["stream", dead, "count"], 3, "CONNECTION_FAILED"],
  [["inspect", dead], 3, "CONNECTION_FAILED"],
  [["conform", dead], 3, "CONNECTION_FAILED"],
  [["bench", dead, "add"], 3, "CONNECTION_FAILED"],
  [["discover", dead], 3, "CONNECTION_FAILED"],
  [["top", dead], 3, "CONNECTION_FAILED"],
  [["top", dead, "--once"], 3, "CONNECTION_FAILED"],
  [["audit", dead], 3, "CONNECTION_FAILED"],
  [["audit", "tcp://127.0.0.1:1"], 3, "CONNECTION_FAILED"],
  [["mcp", dead, "tools"], 3, "CONNECTION_FAILED"],
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

describe.each(["SIGINT", "SIGTERM"] as const)("%s", (signal) => {
  test.each([["call", "add"], ["stream", "count"], ["inspect"], ["bench", "add"], ["top"]])(
    "while callwire %s --json waits",
    async (verb, ...method) => {
      const silent = createServer(() => {}).listen(0, "127.0.0.1");
      await once(silent, "listening");
      const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
      await using running = start([verb, url, ...method, "--json"]);
      await once(silent, "request");
      running.child.kill(signal);
      const { code, stdout } = await running.exited;
      silent.closeAllConnections();
      silent.close();
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: "CANCELLED" } });
      expect(code).toBe(signals[signal]);
    },
  );
});

test("what was shown already is not told again", async () => {
  await using demo = await startDemo();
  const args = ["mcp", `${demo.origin}/mcp`, "call", "math_sqrt", "x=-1", "--json"];
  const { code, stdout } = await finish(args);
  expect(JSON.parse(stdout)).toMatchObject({ isError: true });
  expect(code).toBe(1);
});
