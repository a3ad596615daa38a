import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, type Middleware, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer } from "callwire/mcp";
import { createMetrics, metricsPage } from "callwire/observability";
import { authenticate, bearer, rateLimit, secureDefaults } from "callwire/security";
import { serveSocket } from "callwire/tcp";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import { build, finish } from "./process.ts";

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "callwire-audit-"));
  await build();
  await writeFile(join(folder, "package.json"), `{ "type": "module" }`);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Found {
  readonly severity: string;
  readonly what: string;
  readonly fix: string;
}

async function audit(source: string): Promise<{ code: number | null; found: Found[] }> {
  // Every request gets an answer, which may take long on a busy machine.
  const { code, stdout, stderr } = await finish([
    "audit",
    source,
    "--json",
    "--timeout",
    "30000ms",
  ]);
  expect(stderr).toBe("");
  const found: Found[] = JSON.parse(stdout);
  for (const { fix } of found) expect(fix).not.toBe("");
  return { code, found };
}

async function moduleOf(name: string, source: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, source);
  return path;
}

describe("a module", () => {
  test("with methods only lacks every protection, and the report gives the reasons", async () => {
    const path = await moduleOf(
      "bare.js",
      "export const methods = { users: { delete: () => 1 } };",
    );
    const { code, stdout } = await finish(["audit", path]);
    expect(code).toBe(1);
    expect(stdout).toContain("HIGH    no authentication");
    expect(stdout).toContain("without authentication: users/delete");
    expect(stdout).toContain("no rate limit");
    expect(stdout).toContain("5 findings");
    expect(stdout).toContain(
      "exports no server; audited its exports as unprotected methods: users\n",
    );
  });

  const server = (options: string, methods = "{ users: { delete: () => 1 }, get: () => 1 }") => `
    import { createServer, method } from "callwire";
    import { authenticate, bearer, secureDefaults } from "callwire/security";
    const credentials = bearer((token: string) => (token === "x" ? { id: "x" } : undefined));
    export default createServer(${methods}, ${options});
  `;

  test("with the preset and rules lacks nothing", async () => {
    const methods = `{ wipe: method({ access: { roles: ["operator"] } }, () => 1) }`;
    const path = await moduleOf("safe.ts", server("secureDefaults({ credentials })", methods));
    expect(await audit(path)).toEqual({ code: 0, found: [] });
    expect((await finish(["audit", path])).stdout).toContain("no findings");
  });

  test("with destructive methods open to every authenticated caller", async () => {
    const path = await moduleOf("known.ts", server("secureDefaults({ credentials })"));
    const { code, found } = await audit(path);
    expect(code).toBe(1);
    expect(found.map(({ what }) => what)).toEqual([
      "destructive methods that every authenticated caller can use: users/delete",
    ]);
  });

  test("with destructive methods that no role may call", async () => {
    const options = `secureDefaults({ credentials, anonymous: ["users/*"] })`;
    const path = await moduleOf("anonymous.ts", server(options));
    const { found } = await audit(path);
    expect(found[0]).toMatchObject({
      severity: "high",
      what: expect.stringContaining("users/delete"),
    });
  });

  test("with limits that limit nothing", async () => {
    const options = `{ ...secureDefaults({ credentials, policy: { allow: [] } }), limits: { maxBatch: Infinity } }`;
    const path = await moduleOf("limits.ts", server(options));
    expect((await audit(path)).found.map(({ what }) => what)).toEqual([
      "the limit maxBatch is Infinity; the default is 100",
    ]);
  });
});

describe("a running server", () => {
  test("made with callwire and with guards lacks nothing, and no method of it is called", async () => {
    let calls = 0;
    const credentials = bearer(() => undefined);
    const methods = { wipe: () => calls++ };
    const preset = secureDefaults({ credentials, audit: () => {}, maxLagMs: 60_000 });
    const running = createServer(methods, { ...preset, log: silentLog });
    onTestFinished(() => running.close());
    const { url } = await serveHttp(running, { port: 0 });
    expect(await audit(url)).toEqual({ code: 0, found: [] });
    expect(await audit(url.replace("http", "ws"))).toEqual({ code: 0, found: [] });
    expect(calls).toBe(0);
  });

  test("of callwire without guards is reported", async () => {
    const running = createServer({ wipe: () => 1 }, { log: silentLog });
    onTestFinished(() => running.close());
    const { url } = await serveHttp(running, { port: 0 });
    const { code, found } = await audit(url);
    expect(code).toBe(1);
    expect(found.map(({ severity }) => severity)).toEqual(["high", "medium", "medium"]);
  });

  test("behind its authentication is examined with --bearer", async () => {
    const credentials = bearer((token) => (token === "x" ? { id: "ann" } : undefined));
    const use = [authenticate(credentials), rateLimit({ capacity: 99, perSecond: 99 })];
    const running = createServer({}, { use, log: silentLog });
    onTestFinished(() => running.close());
    const { url } = await serveHttp(running, { port: 0 });
    const auditWith = (...flags: string[]) => finish(["audit", url, ...flags]);
    expect((await auditWith()).stdout).toContain("no rate limit headers");
    expect((await auditWith("--bearer", "x")).stdout).toBe(`${url}: no findings\n`);
    const { code, stderr } = await auditWith("--bearer", "y");
    expect([code, stderr]).toEqual([1, "callwire: the server rejects the credential\n"]);
  });

  test("with open pages and tools beside it", async () => {
    const metrics = createMetrics();
    const credentials = bearer(() => undefined);
    const preset = secureDefaults({ credentials, audit: () => {}, maxLagMs: 60_000 });
    const notes = method({ summary: "Adds a note" }, () => 1);
    const beside = async (use: readonly Middleware[], pages: boolean): Promise<string[]> => {
      const running = createServer({}, { ...preset, log: silentLog });
      const mcp = mcpServer({ notes }, { name: "notes", version: "1.0.0", use, log: silentLog });
      onTestFinished(() => Promise.all([running.close(), mcp.close()]).then(() => {}));
      const { url } = await serveHttp(running, {
        port: 0,
        playground: pages,
        mounts: { ...mcpMounts(mcp), ...(pages && { "/metrics": metricsPage(metrics) }) },
      });
      const { found } = await audit(url);
      return found.map(({ severity, what }) => `${severity}: ${what.split(" ")[0]}`);
    };
    expect(await beside([], true)).toEqual(["medium: /mcp", "low: /metrics", "low: the"]);
    expect(await beside([authenticate(bearer(() => undefined))], false)).toEqual([]);
  });

  test("on TCP is probed by a call", async () => {
    const guarded = createServer({}, { use: [authenticate(bearer(() => undefined))] });
    const open = createServer({}, { use: [rateLimit({ capacity: 9, perSecond: 9 })] });
    onTestFinished(() => Promise.all([guarded.close(), open.close()]).then(() => {}));
    const closed = await serveSocket(guarded, { port: 0 });
    expect((await audit(`tcp://127.0.0.1:${closed.port}`)).found).toEqual([]);
    const wide = await serveSocket(open, { port: 0 });
    expect((await audit(`tcp://127.0.0.1:${wide.port}`)).found).toHaveLength(1);
  });

  test("at an address with only a WebSocket is probed over it", async () => {
    const credentials = bearer(() => undefined);
    const preset = secureDefaults({ credentials, audit: () => {}, maxLagMs: 60_000 });
    const closed = createServer({}, { ...preset, log: silentLog });
    const open = createServer({}, { log: silentLog });
    onTestFinished(() => Promise.all([closed.close(), open.close()]).then(() => {}));
    const addressOf = async (server: typeof open): Promise<string> =>
      `${(await serveHttp(server, { port: 0 })).url.replace("http", "ws")}/ws`;
    expect(await audit(await addressOf(closed))).toEqual({ code: 0, found: [] });
    const { found } = await audit(await addressOf(open));
    expect(found.map(({ what }) => what)).toEqual([expect.stringMatching(/^no authentication/)]);
  });

  test("whose WebSocket accepts any origin is reported", async () => {
    const careless = new WebSocketServer({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => void careless.close());
    await once(careless, "listening");
    careless.on("connection", (socket) => {
      socket.on("message", (data) => {
        const { id } = JSON.parse(String(data)) as { id: number };
        const error = { code: -32601, message: "Method not found" };
        socket.send(JSON.stringify({ jsonrpc: "2.0", error, id }));
      });
    });
    const { port } = careless.address() as AddressInfo;
    const { found } = await audit(`ws://127.0.0.1:${port}`);
    expect(found.map(({ what }) => what.slice(0, 24))).toEqual([
      "pages of any site can ca",
      "no authentication: every",
      "accepts any Host header:",
    ]);
  });

  test("that admits everyone: all that is visible from outside", async () => {
    const careless = createHttpServer((request, response) => {
      let text = "";
      request.on("data", (chunk) => {
        text += chunk;
      });
      request.on("end", () => {
        response.setHeader("access-control-allow-origin", "*");
        const error = { code: -32601, message: "Method not found" };
        const reply = { jsonrpc: "2.0", error, id: 1 };
        const payload: unknown = text === "" ? {} : JSON.parse(text);
        response.end(JSON.stringify(Array.isArray(payload) ? payload.map(() => reply) : reply));
      });
    });
    await new Promise<void>((resolve) => careless.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void careless.close());
    const { port } = careless.address() as AddressInfo;
    const { code, found } = await audit(`http://127.0.0.1:${port}/`);
    expect(code).toBe(1);
    expect(found.map(({ severity, what }) => `${severity}: ${what.slice(0, 24)}`)).toEqual([
      "high: pages of any site can ca",
      "high: CORS allows pages of any",
      "medium: no authentication: every",
      "medium: no rate limit headers",
      "medium: accepts any Host header:",
      "medium: accepts text/plain, whic",
      "medium: accepts a batch of 500 c",
      "low: accepts duplicate member",
    ]);
  });
});

test.each([
  [["audit"], 2, "needs a module"],
  [["audit", "a.js", "b.js"], 2, 'unexpected argument "b.js"'],
  [["audit", "none.js"], 2, "no such module"],
  [["audit", "http://127.0.0.1:1/rpc"], 3, "ECONNREFUSED"],
  [["audit", "http://"], 2, "is not an address"],
  [["audit", "x.js", "--timeout", "soon"], 2, "such as 500ms, 5s or 2m"],
])("callwire %j ends with %i and one line", async (args, code, text) => {
  const exit = await finish(args);
  expect(exit.code).toBe(code);
  expect(exit.stderr).toContain(text);
  expect(exit.stderr.trimEnd().split("\n")).toHaveLength(1);
});

test("an answer that has no end is not waited for", async () => {
  const endless = createHttpServer((request, response) => {
    request.resume();
    response.writeHead(200, { "content-type": "application/json" });
    if (request.url === "/long") {
      const more = (): void => {
        while (response.write(" ".repeat(65_536)));
        response.once("drain", more);
      };
      more();
      return;
    }
    // Repeats a sign of life, and never sends the rest.
    const timer = setInterval(() => response.write(" "), 50);
    response.on("close", () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => endless.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    endless.closeAllConnections();
    endless.close();
  });
  const { port } = endless.address() as AddressInfo;
  const asked = (path: string) =>
    finish([
      "audit",
      `http://127.0.0.1:${port}/${path}`,
      "--timeout",
      path === "long" ? "60s" : "500ms",
    ]);
  expect(await asked("long")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("does not answer with JSON-RPC"),
  });
  expect(await asked("slow")).toMatchObject({
    code: 3,
    stderr: expect.stringContaining("no reply within 500 ms"),
  });
});
