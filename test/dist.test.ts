import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { oneFileSize, pageSizes } from "../scripts/page-sizes.mjs";
import { entries, manifest, root } from "./entries.ts";

// What users install: the package is built if dist/ is stale, packed, and installed elsewhere.

const run = promisify(execFile);
const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
/** These need a package that users install as well. */
const withPeers = [
  "callwire/a2a/signing",
  "callwire/nats",
  "callwire/nats/jetstream",
  "callwire/nats/kv",
  "callwire/observability/otel",
  "callwire/security/jwt",
  "callwire/tanstack-query",
];
const specifiers = entries
  .map(({ specifier }) => specifier)
  .filter((specifier) => !withPeers.includes(specifier));
const nodeOnly = [
  "callwire/a2a/node",
  "callwire/cloudevents",
  "callwire/http/node",
  "callwire/lsp",
  "callwire/mcp",
  "callwire/mcp/client/node",
  "callwire/security/keys",
  "callwire/security/signing",
  "callwire/stdio",
  "callwire/tcp",
  "callwire/testing/node",
  "callwire/ws/node",
];

let folder: string;
let installed: string;
let packed: string[];

beforeAll(async () => {
  await run(process.execPath, ["scripts/build.mjs", "--if-stale"], { cwd: root });
  folder = await mkdtemp(join(tmpdir(), "callwire-"));
  installed = join(folder, "node_modules", manifest.name);

  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const { stdout } = await run("npm", pack, { cwd: root });
  const [{ filename, files }] = JSON.parse(stdout) as [
    { filename: string; files: { path: string }[] },
  ];
  packed = files.map(({ path }) => path);

  // The dependencies of the package are copied from this clone, so that no registry is needed.
  const dependencies = Object.fromEntries(
    Object.keys(manifest.dependencies).map((name) => [name, join(root, "node_modules", name)]),
  );
  const consumer = { private: true, type: "module", dependencies };
  await writeFile(join(folder, "package.json"), JSON.stringify(consumer));
  const install = ["install", "--offline", "--install-links", "--ignore-scripts"];
  await run("npm", [...install, "--no-audit", "--no-fund", join(folder, filename)], {
    cwd: folder,
  });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a program in the consumer's folder and returns what it printed. */
async function runProgram(source: string): Promise<string> {
  const file = join(folder, "program.js");
  await writeFile(file, source);
  const { stdout } = await run(process.execPath, [file], { cwd: folder });
  return stdout.trim();
}

/** What the compiler says of a program in the consumer's folder. */
async function compile(source: string, compilerOptions: object): Promise<string> {
  await writeFile(join(folder, "program.ts"), source);
  const config = { compilerOptions, files: ["program.ts"] };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  const { stdout } = await run(process.execPath, [tsc, "-p", folder]).catch((error) => error);
  return stdout;
}

test("the package holds what users need and nothing else", () => {
  const outside = packed.filter(
    (path) =>
      !/^(dist\/|src\/(?!cli\/)|docs\/[\w-]+\.md$|docs\/images\/playground\.png$|(package\.json|[A-Z]+\.md|LICENSE)$)/.test(
        path,
      ),
  );
  expect(outside).toEqual([]);
  expect(packed).toContain("LICENSE");
  expect(packed).toContain("README.md");
});

test("each declaration map leads to a source in the package", async () => {
  const maps = packed.filter((path) => path.endsWith(".d.ts.map"));
  expect(maps).not.toHaveLength(0);
  for (const path of maps) {
    const { sources } = JSON.parse(await readFile(join(installed, path), "utf8"));
    for (const source of sources) expect(packed).toContain(join(dirname(path), source));
  }
});

test("no file names the folder that it was built in", async () => {
  for (const path of packed) {
    expect(await readFile(join(installed, path), "utf8"), path).not.toContain(root);
  }
});

test("an installation has at most four packages", async () => {
  const lock = await readFile(join(folder, "node_modules", ".package-lock.json"), "utf8");
  const names = Object.keys(JSON.parse(lock).packages);
  expect(names).toContain("node_modules/callwire");
  expect(names.length).toBeLessThanOrEqual(4);
});

test("Node imports every entry", async () => {
  const output = await runProgram(`
    for (const name of ${JSON.stringify(specifiers)}) {
      const names = Object.keys(await import(name));
      if (names.length === 0) throw new Error(name + " exports nothing");
      console.log(name);
    }
  `);
  expect(output.split("\n")).toEqual(specifiers);
});

test("the server answers a call", async () => {
  const output = await runProgram(`
    import { createServer } from "callwire";
    const server = createServer({ add: (a, b) => a + b });
    console.log(server.receive('{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}'));
  `);
  expect(JSON.parse(output)).toEqual({ jsonrpc: "2.0", result: 5, id: 1 });
});

test("the command line starts", async () => {
  const { stdout } = await run("npx", ["--offline", "callwire", "--help"], { cwd: folder });
  expect(stdout).toContain("callwire");
});

describe("a strict TypeScript program compiles", () => {
  const program = `
    import { createClient, createServer } from "callwire";
    import { httpLink } from "callwire/http";

    const methods = { math: { add: (a: number, b: number) => a + b } };
    createServer(methods);
    const { api } = createClient<typeof methods>(httpLink("http://127.0.0.1:8000/rpc"));
    export const sum: Promise<number> = api.math.add(2, 3);
    // @ts-expect-error Text is not a number.
    api.math.add("2", 3);
    // @ts-expect-error There is no such method.
    api.math.divide(2, 3);
  `;
  const strict = {
    target: "es2023",
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    // Our declarations are checked too: they may need nothing that users do not have.
    skipLibCheck: false,
    noEmit: true,
  };

  const onNode = {
    module: "nodenext",
    lib: ["es2023"],
    typeRoots: [join(root, "node_modules", "@types")],
    types: ["node"],
  };

  test.each([
    {
      where: "on Node",
      names: specifiers,
      options: onNode,
    },
    {
      where: "in a browser",
      names: specifiers.filter((name) => !nodeOnly.includes(name)),
      options: { module: "esnext", moduleResolution: "bundler", lib: ["es2023", "dom"], types: [] },
    },
  ])("$where", async ({ names, options }) => {
    const imports = names.map((name, index) => `export * as entry${index} from "${name}";`);
    expect(await compile([...imports, program].join("\n"), { ...strict, ...options })).toBe("");
  });

  test("a package that uses it can emit declarations", async () => {
    const library = `
      import { createClient, createServer, implement, method, type Schema, safe, stream } from "callwire";
      import { httpLink } from "callwire/http";
      import { createMetrics } from "callwire/observability";
      declare const number: Schema<number, number>;
      const errors = { ODD: { code: 1001, data: number } } as const;
      export const methods = {
        half: method({ params: number, result: number, errors }, (n) => n / 2),
        count: stream({ params: number, item: number }, function* (to) { yield to; }),
        now: method({}, () => 0),
        letters: stream({}, function* () { yield "a"; }),
        echo: (text: string) => text,
      };
      export const contract = { half: method({ params: number }), count: stream({ item: number }) };
      export const whole = implement(contract, { half: (n) => n / 2, count: function* () { yield 1; } });
      export const server = createServer(methods);
      export const client = createClient<typeof methods>(httpLink("http://127.0.0.1:8000/rpc"));
      export const { api } = client;
      export const called = () => client.call("half", [1]);
      export const settled = () => safe(api.half(1));
      export const read = () => client.stream("count", [3]);
      export const both = () => client.batch((b) => [b.half(1), b.echo("hi")]);
      export const { api: untyped } = createClient(httpLink("http://127.0.0.1:8000/rpc"));
      export const { reconnects } = createMetrics();
    `;
    const emitting = { ...strict, ...onNode, noEmit: false, declaration: true };
    expect(await compile(library, { ...emitting, emitDeclarationOnly: true })).toBe("");
  });

  /** What the compiler says of a program in the consumer's folder. */
});

test("the package holds the documents that its README links to", async () => {
  const readme = await readFile(join(installed, "README.md"), "utf8");
  const links = [...readme.matchAll(/\]\(([\w./-]+)/g)].map(([, link = ""]) => link);
  const documents = links.filter((link) => /^docs\/|^[A-Z]+\.md$/.test(link));
  expect(documents).not.toHaveLength(0);
  for (const path of documents) expect(packed).toContain(path);
});

test("no script of the package runs, or is reported as missing, when it is installed", async () => {
  const { scripts } = JSON.parse(await readFile(join(installed, "package.json"), "utf8"));
  const run = ["preinstall", "install", "postinstall", "prepublish", "preprepare", "prepare"];
  expect(Object.keys(scripts).filter((name) => run.includes(name))).toEqual([]);
});

test("a page with a client for HTTP and WebSocket has the sizes that the docs give", async () => {
  const entry = join(folder, "page.js");
  await writeFile(
    entry,
    `import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { webSocketLink } from "callwire/ws";
const clients = [httpLink("/rpc"), webSocketLink("/rpc/ws")].map((link) => createClient(link));
for (const { api } of clients) console.log(await api.math.add({ a: 2, b: 3 }));
`,
  );
  const { before, connected } = await pageSizes(folder, entry);
  expect(before).toBeLessThanOrEqual(11_000);
  expect(connected).toBeLessThanOrEqual(25_500);
  expect(await oneFileSize(entry)).toBeLessThanOrEqual(44_000);
});

test("a bundler gets the names for Node from the subpaths for Node", async () => {
  const program = `
    import { createServer } from "callwire";
    import { httpLink, nodeHandler } from "callwire/http/node";
    import { mcpStdioLink } from "callwire/mcp/client/node";
    import { wsUpgrade } from "callwire/ws/node";
    const server = createServer({});
    export const all = [nodeHandler(server), wsUpgrade(server, { path: "/rpc" }), mcpStdioLink];
    export const link = httpLink("http://127.0.0.1:8000/rpc", { connections: 2 });
  `;
  const options = {
    target: "es2023",
    strict: true,
    noEmit: true,
    module: "esnext",
    moduleResolution: "bundler",
    lib: ["es2023"],
    typeRoots: [join(root, "node_modules", "@types")],
    types: ["node"],
  };
  expect(await compile(program, options)).toBe("");
});
