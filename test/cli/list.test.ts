import { afterAll, beforeAll, expect, test } from "vitest";
import { build, finish, type Process, startDemo } from "./process.ts";

let demo: Process & { readonly origin: string };

beforeAll(async () => {
  await build();
  demo = await startDemo();
});

afterAll(() => demo?.[Symbol.asyncDispose]());

test("list shows the methods of a server, or the tools of an MCP server", async () => {
  const { stdout } = await finish(["list", `${demo.origin}/rpc`]);
  expect(stdout).toMatch(/^math\/add +Add two numbers$/m);
  expect(stdout).toMatch(/^math\/count +\(stream\) /m);
  const names = JSON.parse((await finish(["list", `${demo.origin}/rpc`, "--json"])).stdout);
  expect(names).toContain("math/add");
  const { stdout: tools } = await finish(["list", `${demo.origin}/mcp`]);
  expect(tools).toMatch(/^math_add +/m);
});

test("describe shows one method, and suggests the nearest name", async () => {
  const { stdout } = await finish(["describe", `${demo.origin}/rpc`, "math/sqrt"]);
  expect(stdout).toContain("| `x` | `number` | yes |");
  expect(stdout).toContain("NEGATIVE_INPUT");
  expect(stdout).not.toContain("math/add");
  const { stdout: tool } = await finish(["describe", `${demo.origin}/mcp`, "math_add"]);
  expect(tool).toContain("| `a` | `number` | yes |");
  const { code, stderr } = await finish(["describe", `${demo.origin}/rpc`, "math/sqr"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean "math/sqrt"?')]);
});
