import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, environment } from "../cli/process.ts";
import { root } from "../entries.ts";
import { waitMs } from "../limits.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);

describeWith(["neovim"], "neovim with the language server of the example", () => {
  const folder = mkdtempSync(join(tmpdir(), "callwire-neovim-"));
  let seen: Readonly<Record<string, unknown>>;
  // `node` on the PATH is the Node that runs the tests; the folders keep out the user's own files.
  const path = `${dirname(process.execPath)}:${environment.PATH}`;
  const env = {
    ...environment,
    PATH: path,
    HOME: folder,
    XDG_STATE_HOME: folder,
    XDG_CACHE_HOME: folder,
  };

  beforeAll(async () => {
    await build();
    const file = join(folder, "shopping.tally");
    writeFileSync(file, "apples=3\nprice = apples*2 # euros\ntotal = price + tax\n");
    const init = join(root, "examples/language-server/init.lua");
    const script = join(root, "test/lsp/fixtures/neovim.lua");
    const args = ["--headless", "-n", "-i", "NONE", "-u", init, file, "-c", `luafile ${script}`];
    const { stdout } = await run(pathOf("neovim"), args, { env, timeout: waitMs, cwd: folder });
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

  test("sends the server an edit behind a surrogate pair", () => {
    expect(seen.changed).toMatchObject([{ line: 2, message: "A number or a name is missing" }]);
  });

  test("renames and formats", () => {
    expect(seen.text).toEqual(["apples = 3", "cost = apples * 2 # euros", "total = cost + tax"]);
  });

  test("shows what the server of the first lines of docs/lsp.md finds", async () => {
    const page = readFileSync(join(root, "docs/lsp.md"), "utf8");
    const block = (start: string): string => {
      const [, code = ""] = page.split(start);
      return code.slice(0, code.indexOf("```"));
    };
    const programs = { "server.js": block("// server.js\n"), "todo.lua": block("-- todo.lua\n") };
    const lines = Object.values(programs).join("").trim().split("\n").length;
    expect(lines).toBeLessThan(50);
    for (const [name, code] of Object.entries(programs)) writeFileSync(join(folder, name), code);
    writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
    writeFileSync(join(folder, "notes.txt"), "one\n🚀 TODO: land\n");
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(root, join(folder, "node_modules", "callwire"), "dir");
    const shown =
      "lua vim.wait(50000, function() return #vim.diagnostic.get(0) > 0 end, 10) " +
      "io.stdout:write(vim.json.encode(vim.diagnostic.get(0))) vim.cmd('qa!')";
    const args = ["--headless", "-n", "-i", "NONE", "-u", "todo.lua", "notes.txt", "-c", shown];
    const { stdout } = await run(pathOf("neovim"), args, { env, timeout: waitMs, cwd: folder });
    // Columns in neovim are bytes: the rocket has four.
    expect(JSON.parse(stdout.slice(stdout.indexOf("[")))).toMatchObject([
      { lnum: 1, col: 5, end_col: 9, message: "There is something to do" },
    ]);
  });
});
