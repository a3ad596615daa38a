import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createClient, createServer, method, RpcError, silentLog } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { root } from "../entries.ts";
import { describeWith, pathOf } from "../services.ts";

const run = promisify(execFile);

describeWith(["golang-go"], "net/rpc/jsonrpc of Go", () => {
  const folder = mkdtempSync(join(tmpdir(), "callwire-go-"));
  const program = join(folder, "net-rpc");

  beforeAll(async () => {
    const source = fileURLToPath(new URL("fixtures/net_rpc.go", import.meta.url));
    // The standard library is compiled once and kept.
    const env = { ...process.env, GOCACHE: join(root, ".cache/go"), GOFLAGS: "-mod=mod" };
    await run(pathOf("golang-go"), ["build", "-o", program, source], { env });
  }, 300_000);

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("keeps its connection after an error, and sends named params as one object", async () => {
    const add = method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b);
    const fail = () => {
      throw new RpcError(1001, "Refused", { reason: "because" });
    };
    const options = { versions: ["1.0"], version1Errors: "string", log: silentLog } as const;
    const server = createServer({ math: { add }, fail }, options);
    onTestFinished(() => server.close());
    const { port } = await serveSocket(server, { port: 0 });
    const { stdout } = await run(program, [`127.0.0.1:${port}`]);
    const lines = stdout.trim().split("\n");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { "math/add": 15 },
      { nothing: { code: -32601, message: "Method not found" } },
      { fail: { code: 1001, message: "Refused" } },
      { "math/add": 15 },
    ]);
  });

  test("answers a client of version 1.0", async () => {
    const child = spawn(program, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill());
    const [line] = await once(createInterface(child.stdout), "line");
    const client = createClient(tcpLink({ port: JSON.parse(line).port }), { version: "1.0" });
    onTestFinished(() => client.close());
    expect(await client.call("Math.Add", [{ a: 2, b: 3 }])).toBe(5);
    await expect(client.call("Math.Fail", [{ a: 2, b: 3 }])).rejects.toThrow("refused");
    expect(await client.call("Math.Add", [{ a: 3, b: 4 }])).toBe(7);
  });
});
