import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { root } from "../entries.ts";
import { build } from "./process.ts";

const run = promisify(execFile);

beforeAll(build);

test("docs/cli.md has every option of every verb, as --help shows it", async () => {
  const checked = run(process.execPath, ["scripts/cli-options.mjs", "--check"], { cwd: root });
  expect(await checked).toEqual({ stdout: "", stderr: "" });
});
