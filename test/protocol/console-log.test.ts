import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { bundle } from "../transports/bundle.ts";

const program = bundle(new URL("./fixtures/failing.ts", import.meta.url));

function said(...args: readonly string[]): string {
  const { stderr } = spawnSync(process.execPath, [program, ...args], { encoding: "utf8" });
  return stderr;
}

test("off a terminal each failure is one line of JSON, whatever was thrown", () => {
  const stderr = said();
  expect(stderr).toMatch(/^[\x20-\x7e\n]*$/);
  const entries = stderr
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  const entry = {
    time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    level: "error",
    msg: "handler failed",
    id: 1,
    correlationId: expect.any(String),
  };
  expect(entries).toEqual([
    {
      ...entry,
      method: "throws",
      err: {
        type: "Error",
        message: "the disk\nis full \u001b[2J\u009b",
        stack: expect.stringContaining("failing"),
      },
    },
    { ...entry, method: "throwsItself", err: expect.stringContaining("circular") },
  ]);
});

test("on a terminal it is laid out for people", () => {
  const stderr = said("terminal");
  expect(stderr).toMatch(/^handler failed \{\n/);
  expect(stderr).toMatch(/\n {2}method: .*throws/);
});
