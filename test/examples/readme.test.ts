/** Every block of the README runs as it is printed. */
import { execFile, spawnSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { build, cli, environment, type Process, startDemo } from "../cli/process.ts";
import { root } from "../entries.ts";

const run = promisify(execFile);
/** Within the package, so that programs find it by its name. */
const programs = join(root, ".cache", `readme-${process.pid}`);
let folder: string;
let demo: Process & { readonly origin: string };
/** The fixed names and ports of the README, and their replacements here. */
let places: ReadonlyMap<string, string>;
let readme: string;

beforeAll(async () => {
  await build();
  await mkdir(programs, { recursive: true });
  folder = await mkdtemp(join(tmpdir(), "callwire-readme-"));
  const socket = join(folder, "demo.sock");
  demo = await startDemo(["--tcp", "0", "--unix", socket]);
  const [, tcp = ""] = await demo.shown(/TCP +127\.0\.0\.1:(\d+)/);
  const npx = join(folder, "npx");
  await writeFile(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${cli}" "$@"\n`);
  await chmod(npx, 0o755);
  places = new Map([
    ["127.0.0.1:8000", new URL(demo.origin).host],
    ["127.0.0.1:9000", `127.0.0.1:${tcp}`],
    ["/tmp/callwire.sock", socket],
    ['"./examples/', '"../../examples/'],
    ['"npx"', JSON.stringify(npx)],
  ]);
  readme = await readFile(join(root, "README.md"), "utf8");
});

afterAll(async () => {
  await demo?.[Symbol.asyncDispose]();
  await rm(programs, { recursive: true, force: true });
  await rm(folder, { recursive: true, force: true });
});

function blocks(language: string): string[] {
  const fence = new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return Array.from(readme.matchAll(fence), ([, code = ""]) => code);
}

function here(text: string): string {
  return [...places].reduce((now, [there, own]) => now.replaceAll(there, own), text);
}

async function program(index: number): Promise<string> {
  const file = join(programs, `program-${index}.ts`);
  await writeFile(file, `${here(blocks("ts")[index] ?? "")}\nprocess.exit();\n`);
  const loader = join(root, "examples", "typescript.mjs");
  const options = { cwd: root, env: environment };
  const { stdout } = await run(process.execPath, ["--import", loader, file], options);
  return stdout;
}

test("each program compiles by itself, without declarations of another one", async () => {
  const codes = blocks("ts");
  expect(codes).toHaveLength(2);
  for (const [i, code] of codes.entries()) {
    await writeFile(join(programs, `alone-${i}.ts`), here(code));
  }
  const config = { extends: "../../tsconfig.json", include: ["alone-*.ts"] };
  await writeFile(join(programs, "tsconfig.json"), JSON.stringify(config));
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const { stdout } = await run(process.execPath, [tsc, "-p", "."], { cwd: programs }).catch(
    (error) => error,
  );
  expect(String(stdout)).toBe("");
});

test("the program of the first screen prints 5 and the year of a Date", async () => {
  expect((blocks("ts")[0] ?? "").trim().split("\n").length).toBeLessThanOrEqual(12);
  expect(await program(0)).toMatch(/^5 \d{4}\n$/);
});

test("the program with every wire prints 5 for each", async () => {
  expect(await program(1)).toBe("5\n".repeat(6));
});

async function pasted(line: string): Promise<string> {
  const env = { ...environment, PATH: `${folder}:${process.env.PATH}`, XDG_STATE_HOME: folder };
  const running = run("sh", ["-c", here(line)], { cwd: folder, env });
  running.child.stdin?.end();
  return (await running).stdout;
}

const hasCurl = spawnSync("curl", ["--version"]).status === 0;

test.skipIf(!hasCurl)("curl gets what the comment says (needs curl)", async () => {
  const block = blocks("sh").find((code) => code.startsWith("curl")) ?? "";
  const [, expected] = /^# (.*)$/m.exec(block) ?? [];
  expect((await pasted(block)).trim()).toBe(expected);
});

test("each line of the command line that ends by itself works", async () => {
  const block = blocks("sh").find((code) => code.includes("npx callwire call")) ?? "";
  // The first and the last serve until they are stopped, and one measures for ten seconds.
  const lines = block
    .split("\n")
    .filter((line) => /^npx callwire (?!demo|serve|gateway|bench)/.test(line));
  expect(lines).toHaveLength(7);
  for (const line of lines) await pasted(line);
  expect(await readFile(join(folder, "client.ts"), "utf8")).toContain("export function connect");
});

test("the table of speed is that of the last benchmark", async () => {
  const { speedTable } = await import(pathToFileURL(join(root, "bench/speed-table.mjs")).href);
  const results = await readFile(join(root, "bench/results/results.json"), "utf8");
  expect(readme).toContain(speedTable(JSON.parse(results).suites));
});
