import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeWith, pathOf } from "../services.ts";
import { build, finish, type Process, startDemo } from "./process.ts";

const run = promisify(execFile);
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

test("completion prints a script for each shell, from the table of verbs", async () => {
  for (const shell of ["bash", "zsh", "fish"]) {
    const { stdout } = await finish(["completion", shell]);
    expect(stdout).toContain("workers");
  }
  expect((await finish(["completion", "tcsh"])).stderr).toContain("must be bash, zsh or fish");
});

describeWith(["bash"], "in bash", () => {
  test("a verb and an option are completed", async () => {
    const { stdout: script } = await finish(["completion", "bash"]);
    const ask = `${script}\nCOMP_WORDS=(callwire call --ca); COMP_CWORD=2; _callwire; echo "\${COMPREPLY[*]}"`;
    expect((await run(pathOf("bash"), ["-c", ask])).stdout).toBe("--cacert\n");
    const verb = `${script}\nCOMP_WORDS=(callwire desc); COMP_CWORD=1; _callwire; echo "\${COMPREPLY[*]}"`;
    expect((await run(pathOf("bash"), ["-c", verb])).stdout).toBe("describe\n");
  });
});
