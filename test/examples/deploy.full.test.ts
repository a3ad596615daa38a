/** Follows docs/deploy.md as it is printed, but on free ports. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { build, cli, Process } from "../cli/process.ts";
import { root } from "../entries.ts";
import { ownPort } from "../own-port.ts";
import { describeWith } from "../services.ts";

const run = promisify(execFile);

beforeAll(build);

describeWith(["bash", "curl", "openssl"], "docs/deploy.md", () => {
  test("the demo runs with two workers, TLS, API keys, metrics and a gateway", async () => {
    const folder = await mkdtemp(join(tmpdir(), "callwire-deploy-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const page = await readFile(`${root}docs/deploy.md`, "utf8");
    const [, section = ""] = /## A complete example\n(.*?)\n## /s.exec(page) ?? [];
    const ports = [await ownPort(), await ownPort()];
    const blocks = Array.from(section.matchAll(/```\w+\n(.*?)```/gs), ([, text = ""]) =>
      text.replaceAll("8443", `${ports[0]}`).replaceAll("9443", `${ports[1]}`),
    );
    expect(blocks).toHaveLength(7);
    const [, prepare = "", serve = "", call = "", config = "", forward = "", through = ""] = blocks;
    // What `npm install callwire` does; test/dist.test.ts installs the package itself.
    await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
    await symlink(cli, join(folder, "node_modules/.bin/callwire"));
    const path = 'export PATH="$PWD/node_modules/.bin:$PATH"';
    expect(blocks[0]).toContain(path);
    const shell = (text: string) =>
      run("bash", ["-c", `set -e -o pipefail; ${path}; ${text}`], { cwd: folder });
    const background = async (text: string): Promise<Process> => {
      const lines = text.trim().split("\n");
      const last = `exec ${lines.pop()}`;
      const made = new Process("bash", ["-c", [path, ...lines, last].join("\n")], { cwd: folder });
      onTestFinished(async () => {
        made.child.kill("SIGTERM");
        await made.exited;
      });
      await made.shown(/Ctrl-C to stop/);
      return made;
    };

    await shell(prepare);
    const server = await background(serve);
    const called = (await shell(call)).stdout;
    expect(called).toMatch(/^5\n/);
    expect(called).toContain('callwire_calls_total{method="math/add",transport="http"} 1\n');
    await writeFile(join(folder, "gateway.json"), config);
    await background(forward);
    const forwarded = (await shell(through)).stdout;
    expect(forwarded).toMatch(/^5\n/);
    expect(forwarded).toContain('{"status":"ready","upstreams":{"demo":"ok"}}');
    expect(forwarded).toMatch(/callwire_target_up\{.*\} 1\n/);
    await expect(shell(call.replace(/-H "[^"]*"/, ""))).rejects.toThrow("Unauthenticated");

    // The command of the banner works once the secret is set.
    const [, curl = ""] = /^ {2}(curl .*-d .*)$/m.exec(server.stdout) ?? [];
    const tried = `export CALLWIRE_KEY=$(cat secret.txt); ${curl} -s --cacert cert.pem`;
    expect(JSON.parse((await shell(tried)).stdout)).toMatchObject({ result: 8 });
  }, 120_000);
});
