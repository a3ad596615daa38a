import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { passedFile } from "../scripts/release.mjs";
import { root } from "./entries.ts";

const run = promisify(execFile);

test("a release needs a clean tree that passed the long tests, and is one commit with a tag", async () => {
  const cwd = await mkdtemp(join(tmpdir(), "callwire-release-"));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const author = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
  const git = async (...args: string[]) =>
    (await run("git", [...author, ...args], { cwd })).stdout.trim();
  const env = {
    ...process.env,
    ...{ GIT_AUTHOR_NAME: "test", GIT_AUTHOR_EMAIL: "test@example.com" },
    ...{ GIT_COMMITTER_NAME: "test", GIT_COMMITTER_EMAIL: "test@example.com" },
  };
  const script = join(root, "scripts/release.mjs");
  const release = (...args: string[]) =>
    run(process.execPath, [script, ...args], { cwd, env }).catch((error) => error);
  await git("init", "--quiet");
  const made = {
    "package.json": '{ "name": "released",\n"version": "0.1.0" }',
    "package-lock.json": '{ "version": "0.1.0",\n"packages": { "": { "version": "0.1.0" } } }',
    "src/observability/version.ts": 'export const version = "0.1.0";',
    "scripts/build.mjs": "",
    "CHANGELOG.md": "## [Unreleased]\n\n- One.\n",
    ".gitignore": ".cache\n*.tgz\n",
  };
  for (const folder of ["src/observability", "scripts", ".cache"])
    await mkdir(join(cwd, folder), { recursive: true });
  for (const [file, text] of Object.entries(made)) await writeFile(join(cwd, file), text);
  await git("add", "--all");
  await git("commit", "--quiet", "--message", "first");
  expect((await release("minor")).stderr).toContain("test:full has not passed for this tree");

  const tree = await git("rev-parse", "HEAD^{tree}");
  await writeFile(join(cwd, passedFile), JSON.stringify({ tree }));
  await writeFile(join(cwd, "scripts/build.mjs"), "// changed");
  expect((await release("minor")).stderr).toContain("changes that are not committed");
  await git("checkout", "--quiet", ".");
  const dry = await release("minor", "--dry-run");
  expect([dry.code, dry.stderr]).toEqual([undefined, ""]);
  expect(dry.stdout).toContain("would pack released-0.2.0.tgz");
  expect(await git("status", "--porcelain")).toBe("");

  const { stdout, stderr } = await release("minor");
  expect(stderr).toBe("");
  expect(stdout).toContain("packed released-0.2.0.tgz");
  expect(await git("tag")).toBe("v0.2.0");
  expect(await git("log", "-1", "--format=%s")).toBe("Release 0.2.0");
  expect(await git("status", "--porcelain")).toBe("");
  expect(await readFile(join(cwd, "CHANGELOG.md"), "utf8")).toMatch(/## \[0\.2\.0\] - \d{4}/);
  expect((await release("0.2.0")).stderr).toContain("not ready");
}, 60_000);
