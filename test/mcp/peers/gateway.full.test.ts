import { execFile } from "node:child_process";
import { mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { mcpGateway, mcpMounts } from "callwire/mcp";
import { mcpStdioLink } from "callwire/mcp/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../entries.ts";
import { describeWith } from "../../services.ts";
import { linkTo } from "./npm-servers.ts";

const peers = `${root}test/mcp/peers/`;

/** Scenarios for tools that none of the servers has. */
const notOffered =
  /^(json-schema-2020-12|http-custom-header-server-validation|server-stateless|input-required-result-.*|tasks-.*)$/;

describeWith(["mcp peers"], "a gateway in front of five servers of others", () => {
  let folder: string;
  let http: HttpServer;

  beforeAll(async () => {
    folder = await realpath(await mkdtemp(join(tmpdir(), "callwire-")));
    const fixtures = mcpStdioLink(process.execPath, [`${peers}conformance-server.mjs`]);
    const gateway = mcpGateway(
      {
        // The suites look for tools by name, and each of them is a separate client.
        fixtures: { link: fixtures, prefix: "", per: "session", maxConnections: 100 },
        everything: { link: linkTo("everything", folder), per: "session", maxConnections: 100 },
        files: linkTo("files", folder),
        memory: linkTo("memory", folder),
        thinking: linkTo("thinking", folder),
      },
      { name: "all", version: "1.0.0", log: silentLog, startMs: 60_000 },
    );
    const mounts = mcpMounts(gateway);
    http = await serveHttp(createServer({}), { port: 0, host: "127.0.0.1", mounts });
  });

  afterAll(async () => {
    await http.close();
    await rm(folder, { recursive: true });
  });

  test.each([
    ["2025-11-25", 31],
    ["2026-07-28", 27],
  ])(
    "passes the scenarios of %s for what they offer",
    async (revision, atLeast) => {
      const url = new URL("/mcp", http.url);
      // The suites want a name that is known to be local.
      url.hostname = "localhost";
      const suite = `${peers}node_modules/conformance-2026/dist/index.js`;
      const told = ["server", "--url", url.href, "--requirements", revision, "--timeout", "120000"];
      const args = ["--import", `${peers}without-glob.mjs`, suite, ...told];
      const output = await new Promise<string>((resolve) => {
        // It exits with 1 because of the scenarios that are not for these servers.
        execFile(process.execPath, args, { cwd: folder }, (_, stdout) => resolve(stdout));
      });
      const results = [...output.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)];
      const failed = results.flatMap(([, mark, name = ""]) => (mark === "✓" ? [] : [name]));
      expect(failed.filter((name) => !notOffered.test(name))).toEqual([]);
      expect(results.length - failed.length).toBeGreaterThanOrEqual(atLeast);
    },
    300_000,
  );
});
