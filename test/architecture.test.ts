import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, dirname, extname, join, posix, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { manifest, root } from "./entries.ts";

const features = ["client", "server", "security", "observability", "gateway", "openrpc"];
const wires = ["protocol", "framing", "http", "connection", "transports/*"];

/** What each folder of src/ may import besides itself. `transports/*` stands for each transport. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  framing: ["protocol"],
  connection: ["protocol", "framing"],
  ...Object.fromEntries(features.map((folder) => [folder, ["protocol"]])),
  // Each server answers rpc.discover with its document, and its caller is a client without a wire.
  server: ["protocol", "openrpc", "client"],
  // A gateway answers it with one document for all of its upstreams.
  gateway: ["protocol", "openrpc"],
  // Node's streams, for the transports that need Node.
  streams: ["protocol", "connection"],
  // Shared by all that speaks HTTP: JSON-RPC, server-sent events and MCP, on Node and on `fetch`.
  http: ["protocol", "framing", "streams"],
  // Long-running work and its stores, for all protocols that have tasks.
  work: ["protocol"],
  // NATS stores work in its buckets.
  "transports/*": ["protocol", "framing", "http", "connection", "streams", "work"],
  // Servers on `node:http`, which close as those of transports do.
  serve: [...wires, "streams"],
  mcp: [...wires, ...features, "work"],
  a2a: [...wires, ...features, "work"],
  lsp: [...wires, "client"],
  testing: [...wires, ...features],
  // Options of a client for another library.
  "tanstack-query": ["protocol", "client"],
  // The portable entry; that what it reaches is portable is a test of its own.
  "index.ts": ["protocol", "framing", "connection", "client", "server"],
  // The command line is a program on top of the package, so it imports only public entries.
  cli: [],
};

/** Folders beside src/ that stand for a user's program: they import only public entries. */
const programs = ["src/cli", "examples", "bench", "playground", "docs"];

/** Packages that only some users have, each with the places that may import it. */
const peers: Readonly<Record<string, string>> = {
  "@nats-io/transport-node": "src/transports/nats/client-library.ts",
  "@nats-io/jetstream": "src/transports/nats/jetstream/client-library.ts",
  "@nats-io/kv": "src/transports/nats/kv/bucket.ts",
  "@opentelemetry/api": "src/observability/otel/",
  "@tanstack/query-core": "src/tanstack-query/",
  jose: "src/security/jwt.ts src/a2a/signing.ts",
};

const forbiddenNames = /^(utils?|helpers?|common|types|core)$/;

const nodeNames = /(?<![.#\w$])(Buffer|process|require|__dirname|__filename)\b/;

/**
 * Files that read the time of day, and what for. Durations are measured by `elapsed` of a `Clock`,
 * or `performance.now`.
 */
const calendarTime: Readonly<Record<string, string>> = {
  "src/protocol/clock.ts": "is the clock",
  "src/protocol/deadline.ts": "converts deadlines, which are shown and sent",
  "src/client/outgoing-call.ts": "shows when a call is ended",
  "src/protocol/log-text.ts": "dates a line of the log and of the audit log",
  "src/http/fast-path/replies.ts": "dates a response",
  "src/observability/line-log.ts": "dates a line of the log",
  "src/security/authenticate.ts": "compares with expiresAt of a principal",
  "src/security/keys.ts": "compares with the dates of an API key",
  "src/security/jwt.ts": "compares with the dates of a token",
  "src/security/nonce-store.ts": "compares with the dates of signed messages",
  "src/security/redis-nonces.ts": "compares with the dates of signed messages",
  "src/security/signing/freshness.ts": "compares with the dates of signed messages",
  "src/security/signing/http-signer.ts": "dates a signature",
  "src/security/signing/signed-messages.ts": "dates a signature",
  "src/security/signing/signed-params.ts": "dates a signature",
  "src/security/signing/signed-requests.ts": "dates a signature",
  "src/transports/nats/service-protocol.ts": "tells when a worker was started",
  "src/transports/nats/kv/limits.ts": "is kept in NATS, for workers on several machines",
  "src/transports/nats/kv/nonces.ts": "compares with the dates of signed messages",
  "src/transports/nats/kv/claim.ts": "compares with the date that NATS gave an entry",
  "src/a2a/agent-tasks.ts": "dates a task",
  "src/a2a/card-handler.ts": "dates the card",
  "src/a2a/task-run.ts": "dates a task",
  "src/mcp/client/oauth/oauth.ts": "compares with expiresAt of a token, which outlives the process",
  "src/mcp/client/oauth/tokens.ts": "tells when a token expires, which outlives the process",
  "src/mcp/server/http/shared-sessions.ts": "is stored, for processes on several machines",
  "src/mcp/server/request-state.ts": "dates a state that another process may get back",
  "src/mcp/server/tasks.ts": "dates a task",
  "src/mcp/task-table.ts": "dates a task",
  "src/transports/nats/kv/work.ts": "tells when a record expires, which outlives the process",
  "src/work/work-table.ts": "compares with leases that other processes have stored",
  "src/cli/commands/keys.ts": "compares with a date that was typed in",
  "src/cli/commands/replay.ts": "tells which dates in an answer are those of now",
  "src/cli/recording/recorder.ts": "dates a recorded message",
};

const calendarReads = /\bDate\.now\b|\bDate\(\)|[cC]lock\.now\b/;

interface Import {
  readonly specifier: string;
  /** `import type` and `export type` leave nothing in the built file. */
  readonly typeOnly: boolean;
  /** `import(…)`, which loads a file only when it is needed. */
  readonly isLate?: boolean;
}

const statement =
  /(?:^|[;\n}])\s*(?:import|export)\s+(type\s+(?!from\b))?(?:[\w$*{][\w$\s,*{}"']*?\s*from\s*)?["']([^"']+)["']/g;
const inline = /\b(?:import|require)\s*\(\s*["'`]([^"'`]+)["'`]/g;

function importsOf(source: string): Import[] {
  const code = withoutComments(source);
  return [
    ...Array.from(code.matchAll(statement), ([, type, specifier = ""]) => ({
      specifier,
      typeOnly: type !== undefined,
    })),
    ...Array.from(code.matchAll(inline), ([, specifier = ""]) => ({
      specifier,
      typeOnly: false,
      isLate: true,
    })),
  ];
}

const commentOrString =
  /\/\*[\s\S]*?\*\/|\/\/.*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g;

function withoutComments(source: string): string {
  return source.replace(commentOrString, (match) => (match.startsWith("/") ? " " : match));
}

function withoutCommentsAndStrings(source: string): string {
  return source.replace(commentOrString, (match) => (match.startsWith("`") ? match : '""'));
}

function filesIn(folder: string, extension: RegExp): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesIn(path, extension);
    return extension.test(entry.name) ? [path] : [];
  });
}

const sources = new Map(
  filesIn("src", /\.ts$/).map((file) => {
    const text = readFileSync(join(root, file), "utf8");
    return [file, { text, imports: importsOf(text) }] as const;
  }),
);

/** `src/transports/http/fetch-link.ts` belongs to `transports/http`, `src/index.ts` to `index.ts`. */
function folderOf(file: string): string {
  const [, first = "", second = ""] = file.split("/");
  return first === "transports" ? `${first}/${second}` : first;
}

function ruleOf(folder: string): readonly string[] | undefined {
  return mayImport[folder.startsWith("transports/") ? "transports/*" : folder];
}

function isAllowed(from: string, to: string): boolean {
  if (from === to) return true;
  const rule = ruleOf(from) ?? [];
  return rule.includes(to) || (to.startsWith("transports/") && rule.includes("transports/*"));
}

function targetOf(file: string, specifier: string): string | undefined {
  return specifier.startsWith(".") ? posix.join(dirname(file), specifier) : undefined;
}

/** Every file that is loaded with these; type-only imports load nothing. */
function reachedFrom(roots: readonly string[], { atOnce = false } = {}): Set<string> {
  const reached = new Set(roots);
  for (const file of reached) {
    for (const { specifier, typeOnly, isLate } of sources.get(file)?.imports ?? []) {
      const target = targetOf(file, specifier);
      if (target !== undefined && !typeOnly && !(atOnce && isLate)) reached.add(target);
    }
  }
  return reached;
}

describe("folders", () => {
  test("each folder of src has a rule", () => {
    const folders = new Set([...sources.keys()].map(folderOf));
    expect([...folders].filter((folder) => ruleOf(folder) === undefined)).toEqual([]);
  });

  // Type-only imports count here: a folder that names another's types knows about it.
  test("a file imports only from folders that its folder may import", () => {
    const forbidden = [...sources].flatMap(([file, { imports }]) =>
      imports.flatMap(({ specifier }) => {
        const target = targetOf(file, specifier);
        if (target?.startsWith("src/") !== true || folderOf(file) === "cli") return [];
        return isAllowed(folderOf(file), folderOf(target)) ? [] : [`${file} imports ${target}`];
      }),
    );
    expect(forbidden).toEqual([]);
  });

  test("a relative import names a file, with its extension", () => {
    const unknown = [...sources].flatMap(([file, { imports }]) =>
      imports.flatMap(({ specifier }) => {
        const target = targetOf(file, specifier);
        if (target === undefined || sources.has(target)) return [];
        return extname(target) && existsSync(join(root, target)) ? [] : [`${file}: ${specifier}`];
      }),
    );
    expect(unknown).toEqual([]);
  });

  test("a program imports the package by its public names", () => {
    const inner = programs.flatMap((folder) =>
      filesIn(folder, /\.[mc]?[jt]sx?$/).flatMap((file) =>
        importsOf(readFileSync(join(root, file), "utf8")).flatMap(({ specifier }) => {
          const target = targetOf(file, specifier);
          const isInner = target?.startsWith("src/") && !target.startsWith(`${folder}/`);
          return isInner ? [`${file} imports ${target}`] : [];
        }),
      ),
    );
    expect(inner).toEqual([]);
  });

  test("src imports only packages that an installation has", () => {
    const allowed = new Set(Object.keys(manifest.dependencies));
    const foreign = [...sources].flatMap(([file, { imports }]) =>
      imports
        .filter(({ specifier }) => !/^(\.|node:|callwire(\/|$))/.test(specifier))
        .filter(({ specifier }) => !allowed.has(specifier) && folderOf(file) !== "cli")
        .filter(
          ({ specifier }) =>
            !(peers[specifier] ?? "")
              .split(" ")
              .some((place) => place !== "" && file.startsWith(place)),
        )
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });
});

// Types may name each other in a circle, as a call and its peer do; only loading must not.
test("there are no import cycles", () => {
  const circular = [...sources].flatMap(([file, { imports }]) => {
    const next = imports.flatMap(({ specifier, typeOnly }) =>
      typeOnly ? [] : (targetOf(file, specifier) ?? []),
    );
    return reachedFrom(next).has(file) ? [file] : [];
  });
  expect(circular).toEqual([]);
});

test("an entry loads no package until a call or a connection needs it, so that programs start fast", () => {
  const early = ["serve/http", "transports/http/index-node", "transports/ws/index-node"]
    .concat(["mcp/index-node", "mcp/client/index-node", "a2a/node", "gateway/index"])
    .flatMap((entry) => [...reachedFrom([`src/${entry}.ts`], { atOnce: true })])
    .flatMap((file) => {
      expect(sources.has(file), file).toBe(true);
      const packages = (sources.get(file)?.imports ?? []).filter(
        ({ specifier, typeOnly, isLate }) => !/^(\.|node:)/.test(specifier) && !typeOnly && !isLate,
      );
      return packages.map(({ specifier }) => `${file} loads ${specifier}`);
    });
  expect(early).toEqual([]);
});

test("a page loads nothing of a connection before it connects", () => {
  const pages = ["index", "transports/http/index", "transports/ws/native-client"];
  const reached = reachedFrom(
    pages.map((entry) => `src/${entry}.ts`),
    { atOnce: true },
  );
  // What the client needs to wait for the rest, and how callers see the state of a link.
  const waiting = ["deferred-link", "link-states"];
  expect([...reached].filter((file) => folderOf(file) === "connection").sort()).toEqual(
    waiting.map((name) => `src/connection/${name}.ts`).sort(),
  );
});

describe("portable code", () => {
  const portable = portableFiles();

  test("includes the portable entry and the protocol", () => {
    expect(portable).toContain("src/index.ts");
    expect(portable.filter((file) => folderOf(file) === "protocol")).not.toHaveLength(0);
  });

  test("loads no Node module and no package", () => {
    const foreign = portable.flatMap((file) =>
      (sources.get(file)?.imports ?? [])
        .filter(({ specifier }) => !specifier.startsWith("."))
        .map(({ specifier }) => `${file} imports ${specifier}`),
    );
    expect(foreign).toEqual([]);
  });

  test("uses no name that only Node has", () => {
    const named = portable.flatMap((file) => {
      const code = withoutCommentsAndStrings(sources.get(file)?.text ?? "");
      const lines = code.split("\n").filter((line) => nodeNames.test(line));
      return lines.map((line) => `${file}: ${line.trim()}`);
    });
    expect(named).toEqual([]);
  });
});

test("the time of day is read only for what is shown, stored or sent, since it jumps when the clock is set", () => {
  const readers = [...sources].flatMap(([file, { text }]) =>
    calendarReads.test(withoutCommentsAndStrings(text)) ? [file] : [],
  );
  expect(readers.sort()).toEqual(Object.keys(calendarTime).sort());
});

/** What tsconfig.portable.json lists, and all that those files load. */
function portableFiles(): string[] {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc");
  const args = [tsc, "-p", "tsconfig.portable.json", "--showConfig"];
  const config = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  const { files } = JSON.parse(config) as { files: string[] };
  return [...reachedFrom(files.map((file) => posix.normalize(file)))];
}

test.each([
  ["test/browser", "playwright"],
  ["test/interop", "npm peers"],
  ["test/mcp/peers", "mcp peers"],
  ["test/a2a/peers", "a2a peers"],
])("a test that imports the packages of %s is skipped without them", (folder, service) => {
  const manifest = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
  const packages = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  const undeclared = filesIn(folder, /\.test\.ts$/).filter((file) => {
    const text = readFileSync(join(root, file), "utf8");
    const imports = importsOf(text).filter(({ typeOnly }) => !typeOnly);
    const isPeer = ({ specifier }: Import) =>
      packages.some((name) => `${specifier}/`.startsWith(`${name}/`));
    return imports.some(isPeer) && !text.includes(`"${service}"`);
  });
  expect(undeclared).toEqual([]);
});

test("no source file is longer than 350 lines, unless it is generated", () => {
  const long = [...sources]
    .map(([file, { text }]) => [file, text.split("\n").length - 1] as const)
    .filter(([file, lines]) => lines > 350 && !file.startsWith("src/lsp/model/"));
  expect(long).toEqual([]);
});

test("no file or source folder has a name without meaning", () => {
  const files = ["src", "test", "examples", "scripts"].flatMap((folder) => filesIn(folder, /./));
  const vague = files.filter((file) => {
    const folders = file.startsWith("src/") ? dirname(relative("src", file)).split("/") : [];
    const name = basename(file, extname(file));
    return [...folders, name].some((part) => forbiddenNames.test(part));
  });
  expect(vague).toEqual([]);
});

test.each<[source: string, expected: Import[]]>([
  [`import { a } from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`import a, { b as c } from './a.ts'`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`import * as a from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`import {\n  a,\n  type B,\n} from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`import "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`import type { A } from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: true }]],
  [`import type from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`export { a } from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`export * as a from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: false }]],
  [`export type { A } from "./a.ts";`, [{ specifier: "./a.ts", typeOnly: true }]],
  [`import a from "./a.json" with { type: "json" };`, [{ specifier: "./a.json", typeOnly: false }]],
  [`const a = await import("./a.ts");`, [{ specifier: "./a.ts", typeOnly: false, isLate: true }]],
  [`// import { a } from "./a.ts";`, []],
  [`/* import { a } from "./a.ts"; */`, []],
  [
    `const url = "http://a"; import("./a.ts")`,
    [{ specifier: "./a.ts", typeOnly: false, isLate: true }],
  ],
  [`export const from = "./a.ts";`, []],
  [`export type A = "./a.ts";`, []],
])("the imports of %j are found", (source, expected) => {
  expect(importsOf(source)).toEqual(expected);
});
