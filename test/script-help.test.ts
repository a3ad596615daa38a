import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { root } from "./entries.ts";

const run = promisify(execFile);

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  scripts: Readonly<Record<string, string>>;
};

/** The commands in the table of CONTRIBUTING.md that are scripts of this repository. */
const documented = [
  ...readFileSync(join(root, "CONTRIBUTING.md"), "utf8").matchAll(/^\| `npm run ([\w:]+)` /gm),
].flatMap(([, name = ""]) => {
  const [, words] = /node (scripts\/[\w-]+\.mjs[^&]*)$/.exec(scripts[name] ?? "") ?? [];
  return words === undefined ? [] : [[name, words.split(" ")] as const];
});

test.each(documented)("npm run %s -- --help says what it does", async (name, words) => {
  const { stdout, stderr } = await run(process.execPath, [...words, "--help"], { cwd: root });
  expect(stderr).toBe("");
  expect(stdout).toContain(`npm run ${name}`);
});

test("a wrong option of a script is one line", async () => {
  const wrong = run(process.execPath, ["scripts/soak.mjs", "--calls=5", "--wire=ws"], {
    cwd: root,
  });
  await expect(wrong).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^Unknown option '--wire'.*; see --help\n$/),
  });
});

test("npm run conformance refuses a part that does not exist", async () => {
  const wrong = run(process.execPath, ["scripts/conformance.mjs", "servers"], { cwd: root });
  await expect(wrong).rejects.toMatchObject({
    code: 2,
    stderr: "the part must be server, client or a2a, not servers; see --help\n",
  });
});
