import { beforeAll, expect, test } from "vitest";
import { build, finish } from "./process.ts";

let overview: string;
const helps = new Map<string, string>();

beforeAll(async () => {
  await build();
  overview = (await finish(["--help"])).stdout;
  const [, commands = ""] = overview.split("\nCommands:\n");
  const [table = ""] = commands.split("\n\n");
  const verbs = Array.from(table.matchAll(/^ {2}(\w+) /gm), ([, verb = ""]) => verb);
  expect(verbs).toContain("gateway");
  const outputs = await Promise.all(verbs.map((verb) => finish([verb, "--help"])));
  for (const [i, verb] of verbs.entries()) helps.set(verb, outputs[i]?.stdout ?? "");
});

test("every help text fits 80 columns, except for commands to paste", () => {
  for (const text of [overview, ...helps.values()]) {
    const [head = "", examples = ""] = text.split(/\nExamples?:\n/);
    const purposes = examples.split("\n").filter((line) => line.startsWith("  # "));
    const wide = [...head.split("\n"), ...purposes].filter(({ length }) => length > 80);
    expect(wide).toEqual([]);
  }
});

test("every verb that connects to one server has the options for this", () => {
  const options = ["cacert", "cert", "key", "insecure", "header", "bearer", "timeout"];
  // A gateway passes on the credentials of its callers, and has settings for each upstream in its config.
  const connecting = [...helps].filter(
    ([verb, text]) => /--cacert /.test(text) && verb !== "gateway",
  );
  const missing = connecting.flatMap(([verb, text]) =>
    options.filter((name) => !text.includes(`--${name}`)).map((name) => `${verb} --${name}`),
  );
  expect(connecting.length).toBeGreaterThan(15);
  expect(missing).toEqual([]);
});
