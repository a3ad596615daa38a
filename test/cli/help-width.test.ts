import { beforeAll, expect, test } from "vitest";
import { build, finish } from "./process.ts";

beforeAll(build);

test("every help text fits 80 columns, except for commands to paste", async () => {
  const { stdout: overview } = await finish(["--help"]);
  const [, commands = ""] = overview.split("\nCommands:\n");
  const [table = ""] = commands.split("\n\n");
  const verbs = Array.from(table.matchAll(/^ {2}(\w+) /gm), ([, verb = ""]) => verb);
  expect(verbs).toContain("gateway");
  const helps = await Promise.all(verbs.map((verb) => finish([verb, "--help"])));
  for (const { stdout } of [{ stdout: overview }, ...helps]) {
    const [head = "", examples = ""] = stdout.split(/\nExamples?:\n/);
    const purposes = examples.split("\n").filter((line) => line.startsWith("  # "));
    const wide = [...head.split("\n"), ...purposes].filter(({ length }) => length > 80);
    expect(wide).toEqual([]);
  }
});
