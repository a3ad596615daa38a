import { writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { builtWithFolder } from "./folder.ts";
import { start } from "./process.ts";

const inFolder = builtWithFolder();

// It was drained again for the other wires, and the process ended ten seconds later.
test("a handler that ignores its signal does not outlive the drain of stdin, also beside other wires", async () => {
  const file = inFolder("deaf.js");
  await writeFile(file, "export const deaf = () => new Promise(() => {});");
  await using server = start(["serve", file, "--stdio", "--tcp", "0"]);
  await server.shown(/Close stdin to stop/, "stderr");
  server.child.stdin?.end('{"jsonrpc":"2.0","method":"deaf","id":1}\n');
  await server.shown(/-32006.*"id":1/);
  const answeredAt = performance.now();
  expect((await server.exited).code).toBe(0);
  expect(performance.now() - answeredAt).toBeLessThan(5_000);
}, 60_000);
