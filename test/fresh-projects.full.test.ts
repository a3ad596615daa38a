/** The packed package in new projects of users: installed from a registry, with each compiler and module system. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build as bundle } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entries, root } from "./entries.ts";
import { describeWith, pathOf } from "./services.ts";

const run = promisify(execFile);

/** Peers that some entries need; users install them beside this package. */
const peers = [
  "@nats-io/jetstream",
  "@nats-io/kv",
  "@nats-io/transport-node",
  "@opentelemetry/api",
  "@tanstack/query-core",
  "jose",
];
const compilers = ["5.4", "5.5", "5.6", "5.7", "5.8", "5.9", "6", "7"];
const aliasOf = (version: string): string => `typescript-${version.replace(".", "-")}`;

let folder: string;
let tarball: string;

beforeAll(async () => {
  await run(process.execPath, ["scripts/build.mjs", "--if-stale"], { cwd: root });
  folder = await mkdtemp(join(tmpdir(), "callwire-fresh-"));
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const [{ filename }] = JSON.parse((await run("npm", pack, { cwd: root })).stdout);
  tarball = join(folder, filename);
}, 300_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

/** A project with these packages; returns npm's complaints. */
async function install(project: string, manifest: object, packages: string[]): Promise<string> {
  await mkdir(project, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ private: true, ...manifest }));
  const { stdout, stderr } = await run("npm", ["install", "--no-audit", "--no-fund", ...packages], {
    cwd: project,
  });
  const complaints = `${stdout}\n${stderr}`.split("\n").filter((line) => /warn|error/i.test(line));
  // The settings of this machine do not belong to the package.
  return complaints.filter((line) => !/Unknown \w+ config/.test(line)).join("\n");
}

const program = `
  const server = createServer({ add: (a, b) => a + b });
  const http = await serveHttp(server, { port: 0 });
  const client = createClient(httpLink(http.url));
  console.log(await client.call("add", [2, 3]));
  await client.close();
  await server.close();
`;
const imports = `
  import { createClient, createServer } from "callwire";
  import { httpLink } from "callwire/http";
  import { serveHttp } from "callwire/http/node";
`;
const requires = `
  const { createClient, createServer } = require("callwire");
  const { httpLink } = require("callwire/http");
  const { serveHttp } = require("callwire/http/node");
  (async () => {${program}})();
`;

describe("a fresh project", () => {
  test("with ES modules: installs without warnings, and its first program runs", async () => {
    const project = join(folder, "esm");
    expect(await install(project, { type: "module" }, [tarball])).toBe("");
    await writeFile(join(project, "main.js"), imports + program);
    const { stdout, stderr } = await run(process.execPath, ["main.js"], { cwd: project });
    expect([stdout, stderr]).toEqual(["5\n", ""]);
  }, 300_000);

  test("with a bundler: one file for Node, and one for browsers", async () => {
    const project = join(folder, "esm");
    await install(project, { type: "module" }, [tarball]);
    await writeFile(join(project, "main.js"), imports + program);
    const outfile = join(project, "bundle.mjs");
    const banner = "import { createRequire } from 'node:module';";
    await bundle({
      entryPoints: [join(project, "main.js")],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      // undici and ws are CommonJS, and require Node's modules.
      banner: { js: `${banner} const require = createRequire(import.meta.url);` },
      logLevel: "silent",
    });
    expect((await run(process.execPath, [outfile], { cwd: folder })).stdout).toBe("5\n");
    const page = `
      import { createClient } from "callwire";
      import { httpLink } from "callwire/http";
      import { webSocketLink } from "callwire/ws";
      export const clients = [httpLink, webSocketLink].map((link) => createClient(link("/rpc")));
    `;
    await writeFile(join(project, "page.js"), page);
    const { warnings } = await bundle({
      entryPoints: [join(project, "page.js")],
      outdir: join(project, "page"),
      bundle: true,
      splitting: true,
      platform: "browser",
      format: "esm",
      logLevel: "silent",
    });
    expect(warnings).toEqual([]);
  }, 300_000);

  test("with every supported TypeScript, as node16 and for a bundler", async () => {
    const project = join(folder, "typescript");
    const versions = compilers.map((version) => `${aliasOf(version)}@npm:typescript@${version}`);
    const packages = [tarball, "@types/node@20", "@types/ws", ...peers, ...versions];
    // The NATS client takes a package that warns on Node 20, which is not ours.
    const overrides = { "@nats-io/nuid": "2.0.3" };
    expect(await install(project, { type: "module", overrides }, packages)).toBe("");
    const exported = (names: readonly string[]): string =>
      names.map((name, i) => `export * as entry${i} from "${name}";`).join("\n");
    const all = entries.map(({ specifier }) => specifier);
    const typed = `
      import { createClient, createServer } from "callwire";
      import { httpLink } from "callwire/http";
      const methods = { math: { add: (a: number, b: number) => a + b } };
      createServer(methods);
      const { api } = createClient<typeof methods>(httpLink("http://127.0.0.1:8000/rpc"));
      export const sum: Promise<number> = api.math.add(2, 3);
      // @ts-expect-error Text is not a number.
      api.math.add("2", 3);
    `;
    await writeFile(join(project, "main.ts"), exported(all) + typed);
    const withoutNats = all.filter((name) => !name.startsWith("callwire/nats"));
    await writeFile(join(project, "older.ts"), exported(withoutNats) + typed);
    const resolutions = {
      node16: { module: "node16", moduleResolution: "node16" },
      bundler: { module: "esnext", moduleResolution: "bundler" },
    };
    const said: Record<string, string> = {};
    for (const [name, resolution] of Object.entries(resolutions)) {
      const compilerOptions = {
        target: "es2022",
        lib: ["es2023", "dom"],
        types: ["node"],
        strict: true,
        skipLibCheck: false,
        noEmit: true,
        ...resolution,
      };
      // Each compilation takes seconds, and name resolution did not change in between.
      for (const version of name === "node16" ? compilers : compilers.slice(-1)) {
        // The declarations of the NATS client need 5.7.
        const file = Number(version) < 5.7 ? "older.ts" : "main.ts";
        const config = join(project, "tsconfig.json");
        await writeFile(config, JSON.stringify({ compilerOptions, files: [file] }));
        const tsc = join(project, "node_modules", aliasOf(version), "bin", "tsc");
        const { stdout } = await run(process.execPath, [tsc, "-p", config], {
          cwd: project,
        }).catch((error: { stdout: string }) => error);
        if (stdout !== "") said[`${version}, ${name}`] = stdout;
      }
    }
    expect(said).toEqual({});
  }, 600_000);
});

describeWith(["node 22", "node 24"], "a fresh project with CommonJS", () => {
  test.each(["node 22", "node 24"])(
    "can require the package on %s",
    async (node) => {
      const project = join(folder, "commonjs");
      expect(await install(project, {}, [tarball])).toBe("");
      await writeFile(join(project, "main.js"), requires);
      const { stdout, stderr } = await run(pathOf(node), ["main.js"], { cwd: project });
      expect([stdout, stderr]).toEqual(["5\n", ""]);
    },
    300_000,
  );

  test("gets an error of Node 20 that says to import it", async () => {
    const project = join(folder, "commonjs");
    await install(project, {}, [tarball]);
    await writeFile(join(project, "main.js"), requires);
    const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
    const ran = run(process.execPath, ["main.js"], { cwd: project });
    // require(esm) came with 20.19.
    if (major > 20 || minor >= 19) expect((await ran).stdout).toBe("5\n");
    else await expect(ran).rejects.toThrow("ERR_REQUIRE_ESM");
  }, 300_000);
});
