import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, extname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as callwire from "callwire";
import type { McpServer } from "callwire/mcp";
import { Failure, oneLine } from "./failure.ts";
import { memberOf, parsed } from "./json-values.ts";
import { noteFunctions } from "./source-notes.ts";

function isTypescript(path: string): boolean {
  return [".ts", ".mts", ".cts"].includes(extname(path));
}

/** What a module exports to serve: a server, a server for agents, or methods. */
export type Offer =
  | { readonly kind: "server"; readonly server: callwire.Server }
  | { readonly kind: "agents"; readonly agents: McpServer }
  | { readonly kind: "methods"; readonly methods: callwire.Methods };

/** Loads a module of the user, and finds what to serve. */
export async function loadModule(path: string): Promise<Offer> {
  const { name, exported } = await importModule(path);
  try {
    return await offerIn(name, exported, path);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${name}: its exports cannot be read: ${oneLine(error)}`, {
      cause: error,
    });
  }
}

async function offerIn(
  name: string,
  exported: Readonly<Record<string, unknown>>,
  path: string,
): Promise<Offer> {
  // A server comes first: its guards must not be bypassed by serving its methods.
  const offered =
    [exported.default, ...Object.values(exported)].find(isServer) ??
    exported.methods ??
    ("default" in exported ? exported.default : callablesOf(exported));
  if (offered === undefined) {
    throw new Failure(
      `${name} does not export "methods", a default or a function; write: export function add(a, b) { … }`,
    );
  }
  if (typeof offered === "function" && isCallable(offered)) {
    // An anonymous default export is named "default" or "_default".
    const called = /^(_?default)?$/.test(offered.name) ? "add" : offered.name;
    throw new Failure(
      `the default export of ${name} is a function, which needs a name; write: export function ${called}(…) { … }`,
    );
  }
  if (typeof offered !== "object" || offered === null || Array.isArray(offered)) {
    throw new Failure(`the export of ${name} must be methods or a server`);
  }
  if (isServer(offered)) {
    return "catalog" in offered
      ? { kind: "agents", agents: offered as unknown as McpServer }
      : { kind: "server", server: offered };
  }
  if (Object.keys(offered).length === 0) throw new Failure(`${name} does not export methods`);
  await noteFunctions(offered, readFileSync(resolve(path), "utf8"), isTypescript(path));
  return { kind: "methods", methods: offered as callwire.Methods };
}

/** Node needs the extension, which TypeScript and bundlers do not. */
function noSuchModule(file: string, name: string): Failure {
  const extension = [".ts", ".js", ".mts", ".mjs"].find((one) => existsSync(file + one));
  const hint = extension === undefined ? "" : `; did you mean ${JSON.stringify(name + extension)}?`;
  return new Failure(`no such module: ${name}${hint}`);
}

/** Imports a module of the user; `fresh` bypasses the cache, and `signal` gives up. */
export async function importModule(
  path: string,
  fresh = false,
  signal?: AbortSignal,
): Promise<{
  readonly name: string;
  readonly exported: Readonly<Record<string, unknown>>;
}> {
  const file = resolve(path);
  const name = relative(process.cwd(), file) || file;
  if (!existsSync(file)) throw noSuchModule(file, name);
  if (!statSync(file).isFile()) throw new Failure(`${name} is not a file`);
  if (extname(file) === ".json")
    throw new Failure(
      `${name} is not a module; to run the config of a gateway: callwire gateway ${name}`,
    );
  // Output of a module while it loads must not mix with messages on stdout.
  const { write } = process.stdout;
  process.stdout.write = process.stderr.write.bind(process.stderr);
  try {
    return { name, exported: await settled(importFile(file, fresh), signal) };
  } catch (error) {
    const place = placeOf(error);
    const where = place === undefined ? "" : ` at ${place}`;
    throw new Failure(`${name} could not be loaded: ${oneLine(error)}${where}`, { cause: error });
  } finally {
    process.stdout.write = write;
  }
}

/** Rejects if the event loop is empty; Node would exit silently. */
function settled<T>(loading: Promise<T>, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const idle = (): void => reject(new Error("it awaits a promise that never settles"));
    process.once("beforeExit", idle);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    loading.then(resolve, reject).finally(() => process.off("beforeExit", idle));
  });
}

async function importFile(
  file: string,
  fresh: boolean,
): Promise<Readonly<Record<string, unknown>>> {
  if (!isTypescript(file)) {
    const url = pathToFileURL(file);
    // Node caches modules by URL.
    if (fresh) url.searchParams.set("read", `${performance.now()}`);
    return import(url.href);
  }
  // Loading jiti is slow.
  const { createJiti } = await import("jiti");
  const jiti = createJiti(file, {
    interopDefault: false,
    moduleCache: !fresh,
    // A second copy of the package would have different classes.
    virtualModules: {
      callwire,
      "callwire/gateway": await import("callwire/gateway"),
      "callwire/mcp": await import("callwire/mcp"),
      ...(await guards()),
    },
  });
  return jiti.import(file);
}

/** The security entries, whose classes must also be those of this package. */
async function guards(): Promise<Record<string, object>> {
  return {
    "callwire/security": await import("callwire/security"),
    "callwire/security/keys": await import("callwire/security/keys"),
    "callwire/security/node": await import("callwire/security/node"),
    "callwire/security/signing": await import("callwire/security/signing"),
  };
}

/** Checks the shape, because the module may use another copy of the package. */
function isServer(value: unknown): value is callwire.Server {
  if (typeof value !== "object" || value === null) return false;
  const { receive, answerer } = value as Partial<callwire.Server>;
  return typeof receive === "function" && typeof answerer === "object";
}

function callablesOf(exported: Readonly<Record<string, unknown>>): object | undefined {
  const callables = Object.entries(exported).filter(([, value]) => isCallable(value));
  return callables.length === 0 ? undefined : Object.fromEntries(callables);
}

/** A function or a `method(…)`, but not a class. */
export function isCallable(value: unknown): boolean {
  if (typeof value === "function") return !/^class\b/.test(Function.prototype.toString.call(value));
  const { kind, definition } = (value ?? {}) as Partial<callwire.Method>;
  return (kind === "method" || kind === "stream") && typeof definition === "object";
}

/** For modules without a package version. */
const none = "0.0.0";

export function moduleVersion(path: string): string {
  let folder = dirname(resolve(path));
  for (;;) {
    const text = textOf(join(folder, "package.json"));
    if (text !== undefined) {
      const version = memberOf(parsed(text), "version");
      return typeof version === "string" ? version : none;
    }
    const above = dirname(folder);
    if (above === folder) return none;
    folder = above;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

/** The folder of this package, whose stack frames are skipped. */
const own = resolve(import.meta.dirname, "..") + sep;

/** The first stack frame in a file of the user; undefined if there is none. */
function placeOf(thrown: unknown): string | undefined {
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  for (const [, at = "", line] of stack.matchAll(/^ +at (?:.*\()?(.+?):(\d+):\d+\)?$/gm)) {
    const file = pathOf(at.replace(/^async /, ""));
    if (file === undefined || file.startsWith(own)) continue;
    if (file.split(sep).includes("node_modules")) continue;
    return `${relative(process.cwd(), file)}:${line}`;
  }
  return undefined;
}

/** The path of a frame; undefined for frames of Node itself and of `eval`. */
function pathOf(place: string): string | undefined {
  if (place.startsWith("file:")) return fileURLToPath(place.replace(/\?.*$/, ""));
  return resolve(place) === place ? place : undefined;
}
