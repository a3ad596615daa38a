import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isFull } from "../full.ts";
import { run } from "./run.ts";
import { targets } from "./targets.ts";

const corpus = new URL("./corpus/", import.meta.url);

describe.each(Object.entries(targets))("%s", (name, target) => {
  const folder = new URL(`${name}/`, corpus);
  const files = existsSync(folder) ? readdirSync(folder) : [];

  test.each(files)("passes with %s, which once failed", async (file) => {
    const { input } = JSON.parse(readFileSync(new URL(file, folder), "utf8"));
    expect(target.reaches).toContain(await target.check(input));
  });

  test("passes with random inputs, which reach what they should", async () => {
    const inputs = isFull ? target.briefly * 8 : target.briefly;
    const { reached, found } = await run(target, { seed: 1, inputs });
    if (found !== undefined)
      throw new Error(`failed: ${JSON.stringify(found.input)}`, { cause: found.error });
    expect(Object.keys(reached).sort()).toEqual([...target.reaches].sort());
  });
});

test("every kept input belongs to a target", () => {
  expect(readdirSync(corpus).filter((name) => !(name in targets))).toEqual([]);
});
