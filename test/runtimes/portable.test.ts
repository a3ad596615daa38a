import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { build } from "../cli/process.ts";
import { root } from "../entries.ts";
import { waitMs } from "../limits.ts";
import { ownPort } from "../own-port.ts";
import { describeWith, pathOf } from "../services.ts";
import { portableServer } from "./portable-methods.mjs";

// The built package on each runtime, as a client of one server in this process and as a server itself.

const run = promisify(execFile);
const contract = "test/runtimes/portable-contract.mjs";
let server: HttpServer;
let closedUrl: string;

beforeAll(async () => {
  await build();
  server = await serveHttp(portableServer(), { port: 0 });
  closedUrl = `http://127.0.0.1:${await ownPort()}/rpc`;
});

afterAll(() => server?.close());

describe("Node as it runs the tests", () => keeps(() => process.execPath));
describeWith(["node 22"], "Node 22", () => keeps(() => pathOf("node 22")));
describeWith(["node 24"], "Node 24", () => keeps(() => pathOf("node 24")));
describeWith(["bun"], "Bun, and Bun.serve", () => {
  // Bun would follow the paths of tsconfig.json to the sources; what users get is dist/.
  keeps(() => pathOf("bun"), ["--tsconfig-override=test/runtimes/no-paths.json", "run"]);
});
describeWith(["deno"], "Deno, and Deno.serve", () => {
  const rights = ["--allow-net=127.0.0.1", "--allow-env", "--allow-read"];
  const own = ["--quiet", "--no-lock", "--node-modules-dir=manual"];
  keeps(() => pathOf("deno"), ["run", ...own, ...rights]);
});

function keeps(command: () => string, args: readonly string[] = []): void {
  test("keeps the portable contract", async () => {
    const all = [...args, contract, server.url, closedUrl];
    const options = { cwd: root, timeout: waitMs };
    const { stdout } = await run(command(), all, options).catch((error) => error);
    const lines = String(stdout).trim().split("\n");
    const held = lines.filter((line) => line.startsWith("ok - "));
    const rest = lines.filter((line) => !line.startsWith("ok - "));
    expect(rest).toEqual([`1..${held.length}`]);
    expect(held.length).toBeGreaterThan(70);
  });
}
