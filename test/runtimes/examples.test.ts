/** The examples for other runtimes, each run by its runtime and called over HTTP and WebSocket. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import type { methods } from "../../examples/quickstart/methods.ts";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";
import { startWorker } from "./workerd.ts";

beforeAll(build);

async function answers(url: string): Promise<void> {
  for (const link of [httpLink(url), webSocketLink(url)]) {
    await using client = createClient<typeof methods>(link);
    expect(await client.api.math.add({ a: 2, b: 3 })).toBe(5);
    const counted: number[] = [];
    for await (const n of client.api.math.count({ to: 3 })) counted.push(n);
    expect(counted).toEqual([0, 1, 2, 3]);
  }
}

/** Starts a program that prints its address; it ends with the test. */
async function start(command: string, args: readonly string[]): Promise<string> {
  const child = spawn(command, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, PORT: "0" },
  });
  onTestFinished(async () => {
    const ended = once(child, "exit");
    if (child.kill()) await ended;
  });
  for await (const line of createInterface(child.stdout)) {
    const [url] = line.match(/http:\S+/) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error(`${command} did not start`);
}

describeWith(["bun"], "the example for Bun", () => {
  test("answers over HTTP and WebSocket", async () => {
    // Bun would follow the paths of tsconfig.json to the sources; what users get is dist/.
    const own = ["--tsconfig-override=test/runtimes/no-paths.json", "run"];
    await answers(await start(pathOf("bun"), [...own, "examples/runtimes/bun.ts"]));
  });
});

describeWith(["deno"], "the example for Deno", () => {
  test("answers over HTTP and WebSocket", async () => {
    const own = ["--quiet", "--no-lock", "--no-check", "--node-modules-dir=manual"];
    const rights = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read"];
    const args = ["run", ...own, ...rights, "examples/runtimes/deno.ts"];
    await answers(await start(pathOf("deno"), args));
  });
});

describeWith(["workerd"], "the example for Workers", () => {
  test("answers over HTTP and WebSocket", async () => {
    const worker = await startWorker("examples/runtimes/worker.ts");
    onTestFinished(() => worker.stop());
    await answers(worker.url);
  });
});
