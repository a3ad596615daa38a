import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";

const run = promisify(execFile);

describeWith(["mcp peers"], "the official conformance suites", () => {
  beforeAll(build, 60_000);

  test("find no fault in the server, in any revision, tasks included", async () => {
    const { stdout } = await run(process.execPath, ["scripts/conformance.mjs", "server"], {
      cwd: root,
    });
    const runs = stdout.trim().split("\n");
    // Fewer checks than before would mean that something is no longer checked.
    const passed = runs.map((line) => Number(/: (\d+) checks passed, 0 failed$/.exec(line)?.[1]));
    expect(runs.every((line) => line.startsWith("ok "))).toBe(true);
    expect(passed[0]).toBeGreaterThanOrEqual(46);
    expect(passed[1]).toBeGreaterThanOrEqual(83);
    expect(passed[2]).toBeGreaterThanOrEqual(196);
  }, 400_000);

  test("find no fault in the client, except for extensions that it does not have", async () => {
    const { stdout } = await run(process.execPath, ["scripts/conformance.mjs", "client"], {
      cwd: root,
    });
    const runs = stdout.trim().split("\n");
    const passed = runs.map((line) => Number(/: (\d+) checks passed, 0 failed$/.exec(line)?.[1]));
    expect(runs.every((line) => line.startsWith("ok "))).toBe(true);
    expect(passed[0]).toBeGreaterThanOrEqual(270);
    expect(passed[1]).toBeGreaterThanOrEqual(260);
    expect(passed[2]).toBeGreaterThanOrEqual(400);
  }, 900_000);
});
