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
  expect(stdout).toMatch(
    /^math\/sqrt\n\n.*\n\nsafe to repeat\n\nParams:\n {2}x {2}number {2}required\n/,
  );
  expect(stdout).toContain("\nErrors:\n  -32000  NEGATIVE_INPUT  Negative input  { x: number }\n");
  expect(stdout).toContain('\n  --> {"jsonrpc":"2.0","method":"math/sqrt"');
  expect(stdout).not.toContain("math/add");
  const { stdout: tool } = await finish(["describe", `${demo.origin}/mcp`, "math_add"]);
  expect(tool).toContain("\nParams:\n  a  number  required\n  b  number  required\n");
  const { code, stderr } = await finish(["describe", `${demo.origin}/rpc`, "math/sqr"]);
  expect([code, stderr]).toEqual([1, expect.stringContaining('did you mean "math/sqrt"?')]);
});
