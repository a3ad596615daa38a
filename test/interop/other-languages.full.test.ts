/** Runs every snippet of docs/other-languages.md as it is printed, but on free ports. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { build, cli, Process } from "../cli/process.ts";
import { root } from "../entries.ts";
import { ownPort } from "../own-port.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);

describeWith(["bash", "curl", "python3", "golang-go"], "docs/other-languages.md", () => {
  let folder: string;
  let page: string;

  beforeAll(async () => {
    await build();
    folder = await mkdtemp(join(tmpdir(), "callwire-languages-"));
    await mkdir(join(folder, "bin"));
    await symlink(cli, join(folder, "bin/callwire"));
    await mkdir(join(folder, "node_modules"));
    await symlink(root, join(folder, "node_modules/callwire"));
    await symlink(`${root}node_modules/zod`, join(folder, "node_modules/zod"));
    await cp(`${root}examples/python`, join(folder, "examples/python"), { recursive: true });
    page = await readFile(`${root}docs/other-languages.md`, "utf8");
    for (const port of ["8000", "8001", "9000"]) page = page.replaceAll(port, `${await ownPort()}`);
  });

  afterAll(() => rm(folder, { recursive: true, force: true }));

  const env = () => ({
    ...process.env,
    PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
    GOCACHE: join(root, ".cache/go"),
  });

  /** The blocks of a language below a heading, in their order. */
  function blocks(heading: string, language: string): string[] {
    const [, section = ""] = page.split(`${heading}\n`);
    const [own = ""] = section.split("\n## ");
    return Array.from(own.matchAll(/```(\w+)\n(.*?)```/gs), ([, name, text = ""]) =>
      name === language ? text : "",
    ).filter((text) => text !== "");
  }

  const shell = async (text = "") =>
    (await run("bash", ["-e", "-c", text], { cwd: folder, env: env() })).stdout;

  async function background(text = ""): Promise<Process> {
    const made = new Process("bash", ["-c", `exec ${text}`], { cwd: folder, env: env() });
    onTestFinished(async () => {
      made.child.kill("SIGTERM");
      await made.exited;
    });
    await made.shown(/Ctrl-C to stop/);
    return made;
  }

  test("curl, the shell and Python call the demo", async () => {
    await background(blocks("# From other languages", "sh")[0]);
    expect(JSON.parse(await shell(blocks("## curl", "sh")[0]))).toMatchObject({ result: 5 });
    expect(JSON.parse(await shell(blocks("## Shell", "sh")[0]))).toEqual({ result: 5 });
    const [generate, gateway = ""] = blocks("## Python", "sh");
    await shell(generate);
    await writeFile(join(folder, "main.py"), blocks("## Python", "python")[0] ?? "");
    const { stdout } = await run(pathOf("python3"), ["main.py"], { cwd: folder });
    expect(stdout).toMatch(/^5(\.0)?\n-32000 \{.*-4.*\}\n$/);
    await background(gateway);
    const [port] = /\d+$/m.exec(gateway.trim()) ?? [];
    const called = `callwire call http://localhost:${port}/rpc words/longest text="a bcd ef"`;
    expect(JSON.parse(await shell(`${called} --json`))).toEqual({ result: "bcd" });
  }, 120_000);

  test("Go calls a server, and reads its error", async () => {
    await writeFile(join(folder, "methods.ts"), blocks("## Go", "ts")[0] ?? "");
    // The HTTP port of the page is the demo's.
    await background(`${blocks("## Go", "sh")[0]?.trim()} --port 0`);
    await writeFile(join(folder, "main.go"), blocks("## Go", "go")[0] ?? "");
    const { stdout } = await run(pathOf("golang-go"), ["run", "main.go"], {
      cwd: folder,
      env: env(),
    });
    expect(stdout).toBe("3 <nil>\n1001 Odd\n");
  }, 300_000);
});
