import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, environment } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);

describeWith(["neovim"], "neovim with the language server of the example", () => {
  const folder = mkdtempSync(join(tmpdir(), "callwire-neovim-"));
  let seen: Readonly<Record<string, unknown>>;

  beforeAll(async () => {
    await build();
    const file = join(folder, "shopping.tally");
    writeFileSync(file, "apples=3\nprice = apples*2 # euros\ntotal = price + tax\n");
    const init = join(root, "examples/language-server/init.lua");
    const script = join(root, "test/lsp/fixtures/neovim.lua");
    const args = ["--headless", "-n", "-i", "NONE", "-u", init, file, "-c", `luafile ${script}`];
    // `node` on the path is the Node that runs the tests; the folders keep away the user's own files.
    const path = `${dirname(process.execPath)}:${environment.PATH}`;
    const env = {
      ...environment,
      PATH: path,
      HOME: folder,
      XDG_STATE_HOME: folder,
      XDG_CACHE_HOME: folder,
    };
    const { stdout } = await run(pathOf("neovim"), args, { env, timeout: 55_000, cwd: folder });
    seen = JSON.parse(stdout.slice(stdout.indexOf("{")));
  });

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test("runs to the end", () => {
    expect(seen.failure).toBeUndefined();
  });

  test("shows diagnostics in their places", () => {
    expect(seen.opened).toEqual([{ line: 2, from: 16, to: 19, message: "tax has no value" }]);
    expect(seen.screen).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/apples=3$/),
        expect.stringMatching(/total = price \+ tax.*tax has no value$/),
      ]),
    );
  });

  test("shows a hover and completions", () => {
    expect(seen.hover).toEqual(["**price** = 6"]);
    expect(seen.completion).toEqual(["apples = 3", "price = 6"]);
  });

  test("keeps the server in step with an edit behind a surrogate pair", () => {
    expect(seen.changed).toMatchObject([{ line: 2, message: "A number or a name is missing" }]);
  });

  test("renames and formats", () => {
    expect(seen.text).toEqual(["apples = 3", "cost = apples * 2 # euros", "total = cost + tax"]);
  });
});
