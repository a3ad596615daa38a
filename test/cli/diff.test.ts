import { execFileSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { createServer, method } from "callwire";
import { serveHttp } from "callwire/http/node";
import { openrpcDocument } from "callwire/openrpc";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { builtWithFolder } from "./folder.ts";
import { finish } from "./process.ts";

const inFolder = builtWithFolder();

function serverOf(isRequired: boolean) {
  const title = isRequired ? z.string() : z.string().optional();
  const create = method({ params: z.object({ title }) }, () => null);
  return createServer(isRequired ? { create, remove: () => null } : { create });
}

async function written(name: string, isRequired: boolean): Promise<string> {
  const file = inFolder(name);
  await writeFile(file, JSON.stringify(openrpcDocument(serverOf(isRequired).methods)));
  return file;
}

test("says what breaks callers, and fails then", async () => {
  const [old, next] = [await written("old.json", false), await written("new.json", true)];
  expect(await finish(["diff", old, next])).toMatchObject({
    code: 1,
    stderr: "",
    stdout:
      "BREAKS  create: params.title now is required\n" +
      "ok      remove: is new\n" +
      "1 change may break callers\n",
  });
  const only = await finish(["diff", old, next, "--breaking", "--json"]);
  expect(only.code).toBe(1);
  expect(JSON.parse(only.stdout)).toEqual([
    {
      kind: "param-required",
      breaking: true,
      method: "create",
      path: "params.title",
      message: "params.title now is required",
    },
  ]);
  expect(await finish(["diff", old, old])).toMatchObject({ code: 0, stdout: "no changes\n" });
});

test("compares a file with a running server", async () => {
  const http = await serveHttp(serverOf(false), { port: 0 });
  onTestFinished(() => http.close());
  const old = await written("file.json", true);
  const { code, stdout } = await finish(["diff", old, http.url]);
  expect(code).toBe(1);
  expect(stdout).toContain("BREAKS  remove: was removed\n");
});

test("compares a file with a revision of Git", async () => {
  const file = await written("openrpc.json", false);
  const cwd = dirname(file);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=test", "-c", "user.email=test@example.com", ...args], {
      cwd,
      stdio: "pipe",
    });
  git("init", "--quiet");
  git("add", "openrpc.json");
  git("commit", "--quiet", "--no-verify", "--message", "Add the document");
  await written("openrpc.json", true);
  const found = await finish(["diff", "HEAD:openrpc.json", "openrpc.json"], { cwd });
  expect(found).toMatchObject({ code: 1, stdout: expect.stringContaining("params.title") });
  const missing = await finish(["diff", "HEAD:other.json", "openrpc.json"], { cwd });
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("other.json") });
});

test("needs two documents", async () => {
  const { code, stderr } = await finish(["diff", "one.json"]);
  expect([code, stderr]).toEqual([2, expect.stringContaining("diff needs two documents")]);
});
