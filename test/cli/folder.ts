import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { build } from "./process.ts";

/** Builds the command line before the tests of a file, and gives them a folder: `inFolder("config.json")`. */
export function builtWithFolder(): (name: string) => string {
  let folder: string;
  beforeAll(async () => {
    await build();
    folder = await mkdtemp(join(tmpdir(), "callwire-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return (name) => join(folder, name);
}
