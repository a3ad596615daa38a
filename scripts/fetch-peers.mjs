// Fetches what tests need beside npm install: other runtimes, a browser, other people's libraries.
// Whatever is there already stays: `node scripts/fetch-peers.mjs`. What was found goes into
// .cache/services.json, where test/services.ts reads it.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const platform = `${process.platform}-${process.arch}`;

/**
 * What a test can ask for, where it comes from and how it is found.
 * @typedef {object} Service
 * @property {string} name
 * @property {{ npm: string } | { apt: string }} from
 * @property {() => Promise<string | undefined> | string | undefined} find
 */

/**
 * A registry that fails once is asked again soon; without a network, npm would wait for minutes.
 */
const patience = ["--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=4000"];

/** @type {Service[]} */
const services = [
  runtime("node 22", "node-22-linux-x64/bin/node"),
  runtime("node 24", "node-24-linux-x64/bin/node"),
  runtime("bun", "@oven/bun-linux-x64/bin/bun"),
  runtime("deno", "@deno/linux-x64-glibc/deno"),
  runtime("workerd", "@cloudflare/workerd-linux-64/bin/workerd"),
  {
    name: "playwright",
    from: { npm: "test/browser" },
    find: () => installed("test/browser", "playwright-core/package.json"),
  },
  {
    name: "chromium",
    from: { apt: "chromium" },
    find: () => onPath("chromium") ?? onPath("chromium-browser") ?? onPath("google-chrome"),
  },
  {
    name: "npm peers",
    from: { npm: "test/interop" },
    find: () => installed("test/interop", ".package-lock.json"),
  },
  {
    name: "mcp peers",
    from: { npm: "test/mcp/peers" },
    find: () => installed("test/mcp/peers", ".package-lock.json"),
  },
  {
    name: "a2a peers",
    from: { npm: "test/a2a/peers" },
    find: () => installed("test/a2a/peers", ".package-lock.json"),
  },
  {
    name: "tracing example",
    from: { npm: "examples/tracing" },
    find: () => installed("examples/tracing", ".package-lock.json"),
  },
  {
    name: "board example",
    from: { npm: "examples/board" },
    find: () => installed("examples/board", ".package-lock.json"),
  },
  {
    name: "photo example",
    from: { npm: "examples/photo" },
    find: () => installed("examples/photo", ".package-lock.json"),
  },
  {
    name: "vue example",
    from: { npm: "examples/vue" },
    find: () => installed("examples/vue", ".package-lock.json"),
  },
  program("curl"),
  program("openssl"),
  program("aria2", "aria2c"),
  program("nats-server"),
  program("redis-server"),
  program("prometheus"),
  {
    name: "postgresql",
    from: { apt: "postgresql" },
    // The folder of its programs, which Debian does not put into the PATH.
    find: () => {
      const versions = "/usr/lib/postgresql";
      if (!existsSync(versions)) return undefined;
      return readdirSync(versions)
        .map((version) => join(versions, version, "bin"))
        .find(
          (folder) =>
            isExecutable(join(folder, "initdb")) && isExecutable(join(folder, "postgres")),
        );
    },
  },
  program("golang-go", "go"),
  program("python3", "python3"),
  program("mypy", "mypy"),
  program("iproute2", "ip"),
  {
    name: "pylsp-jsonrpc",
    from: { apt: "python3-pylsp-jsonrpc" },
    find: () => pythonWith("pylsp_jsonrpc"),
  },
  program("neovim", "nvim"),
  program("python3-pylsp", "pylsp"),
  {
    name: "jsonrpclib-pelix",
    from: { apt: "python3-jsonrpclib-pelix" },
    find: () => pythonWith("jsonrpclib"),
  },
];

/** Large, and needed by `npm run test:full` only. @type {Service[]} */
const longServices = [
  {
    name: "next example",
    from: { npm: "examples/next" },
    find: () => installed("examples/next", ".package-lock.json"),
  },
];
if (process.env.CALLWIRE_TESTS === "full") services.push(...longServices);

/** @type {Map<string, string>} */
const found = new Map();
/** Why something is not there, by its name. @type {Map<string, string>} */
const missing = new Map();
/** How npm names a registry that does not answer at all. */
const unreachable = /\b(EAI_AGAIN|ENOTFOUND|ECONNREFUSED|ENETUNREACH|EHOSTUNREACH)\b/;
/** Aborted when one install finds that no registry answers, since the others would take minutes to find out. */
const offline = new AbortController();

await look(services);
const wanted = services.filter(({ name }) => !found.has(name));
const folders = new Set(wanted.flatMap(({ from }) => ("npm" in from ? [from.npm] : [])));
const packages = wanted.flatMap(({ from }) => ("apt" in from ? [from.apt] : []));
await Promise.all([...[...folders].map(installFolder), installPackages(packages)]);
await look(wanted);
report();

/**
 * @param {string} name
 * @param {string} file
 * @returns {Service}
 */
function runtime(name, file) {
  return {
    name,
    from: { npm: "test/runtimes/binaries" },
    find: () => (platform === "linux-x64" ? installed("test/runtimes/binaries", file) : undefined),
  };
}

/**
 * A program of Debian's.
 * @param {string} name of the package
 * @returns {Service}
 */
function program(name, command = name) {
  return {
    name,
    from: { apt: name },
    find: () => onPath(command) ?? onPath(command, ["/usr/sbin"]),
  };
}

/** @param {Service[]} among */
async function look(among) {
  await Promise.all(
    among.map(async ({ name, find }) => {
      const path = await find();
      if (path !== undefined) found.set(name, path);
    }),
  );
}

/**
 * A file that npm put into a folder of ours, if the folder is as its lockfile says.
 * @param {string} folder
 * @param {string} file
 */
function installed(folder, file) {
  const path = join(root, folder, "node_modules", file);
  return existsSync(path) && stampOf(folder) === lockOf(folder) ? path : undefined;
}

/** @param {string} folder */
function lockOf(folder) {
  const lock = readFileSync(join(root, folder, "package-lock.json"));
  return createHash("sha256").update(lock).digest("hex");
}

/** The lockfile that was installed last. @param {string} folder */
function stampOf(folder) {
  const stamp = join(root, folder, "node_modules", ".stamp");
  return existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
}

/** @param {string} folder */
async function installFolder(folder) {
  const own = services.filter(({ from }) => "npm" in from && from.npm === folder);
  if (folder === "test/runtimes/binaries" && platform !== "linux-x64") {
    for (const { name } of own) missing.set(name, `its npm package for ${platform} is not listed`);
    return;
  }
  const names = own.map(({ name }) => name).join(", ");
  const failure = await timed(`${names} from the npm registry`, async () => {
    const failed = await npmInstall(join(root, folder));
    if (failed !== undefined) return failed;
    complete(folder);
    // npm is content without the binaries of the runtimes, which are optional dependencies.
    const isThere = await Promise.all(own.map(({ find }) => find()));
    const isWhole = isThere.every((path) => path !== undefined);
    return isWhole ? undefined : "the npm registry has no package for this machine, or is away";
  });
  for (const { name } of own) if (failure !== undefined) missing.set(name, failure);
}

/** @param {string} folder */
async function npmInstall(folder) {
  const args = ["ci", "--no-audit", "--no-fund", "--loglevel=error", ...patience];
  const failure = await run("npm", args, folder, offline.signal);
  const [code] = unreachable.exec(failure ?? "") ?? [];
  if (code !== undefined) offline.abort(`the npm registry cannot be reached: ${code}`);
  return failure === undefined ? undefined : (offline.signal.reason ?? failure);
}

/** Lets the programs in a folder import the package by its name, and notes what was installed. @param {string} folder */
function complete(folder) {
  const modules = join(root, folder, "node_modules");
  mkdirSync(modules, { recursive: true });
  const target = process.platform === "win32" ? root : relative(modules, root);
  const link = join(modules, "callwire");
  if (!existsSync(link)) symlinkSync(target, link, "junction");
  writeFileSync(join(modules, ".stamp"), lockOf(folder));
}

/** @param {string[]} packages */
async function installPackages(packages) {
  if (packages.length === 0) return;
  const hasApt = onPath("apt-get") !== undefined;
  const failure =
    hasApt && process.getuid?.() === 0
      ? await timed(`${packages.join(", ")} from apt-get`, () => aptInstall(packages))
      : undefined;
  for (const { name, from } of services) {
    if (!("apt" in from) || !packages.includes(from.apt)) continue;
    const toDo = hasApt ? `run apt-get install ${from.apt} as root` : `install ${from.apt}`;
    missing.set(name, failure ?? toDo);
  }
}

/** @param {string[]} packages */
async function aptInstall(packages) {
  const retries = ["-o", "DPkg::Lock::Timeout=120", "-o", "Acquire::Retries=3"];
  const install = [...retries, "install", "-y", "--no-install-recommends"];
  const stale = await run("apt-get", [...retries, "update", "-q"]);
  const failure = await run("apt-get", [...install, ...packages]);
  if (failure === undefined || packages.length === 1) return failure;
  // One that this release of Debian lacks must not keep the others away.
  for (const name of packages) await run("apt-get", [...install, name]);
  return stale ?? failure;
}

/**
 * @param {string} what
 * @param {() => Promise<string | undefined>} work
 */
async function timed(what, work) {
  console.log(`fetching ${what} …`);
  const started = performance.now();
  const failure = await work();
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  console.log(`${failure === undefined ? "fetched " : "FAILED  "} ${what} in ${seconds} s`);
  return failure;
}

/**
 * Resolves with what went wrong, if anything did.
 * @param {string} command
 * @param {string[]} args
 * @param {string} [cwd]
 * @param {AbortSignal} [signal]
 * @returns {Promise<string | undefined>}
 */
function run(command, args, cwd = root, signal = undefined) {
  const child = spawn(command, args, {
    cwd,
    signal,
    // npm ends its retries before it heeds SIGTERM.
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, DEBIAN_FRONTEND: "noninteractive" },
    shell: process.platform === "win32",
  });
  /** @type {string[]} */
  const output = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text) => output.push(text));
  }
  return new Promise((resolve) => {
    child.on("error", (error) => resolve(error.message));
    child.on("close", (code) => {
      const lines = output.join("").trim().split("\n");
      const told = lines.filter((line) => /^(E:|npm error)/.test(line)).slice(0, 3);
      const sentence = (told.length > 0 ? told : lines.slice(-1)).join(" ");
      resolve(code === 0 ? undefined : `${command} failed: ${sentence}`);
    });
  });
}

/** @param {string} command */
function onPath(command, places = (process.env.PATH ?? "").split(delimiter)) {
  return places.map((place) => join(place, command)).find(isExecutable);
}

/** @param {string} path */
function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * The Python that can import a module: Debian's packages belong to Debian's Python.
 * @param {string} module
 */
async function pythonWith(module) {
  for (const python of ["/usr/bin/python3", onPath("python3")]) {
    if (python === undefined || !isExecutable(python)) continue;
    if ((await run(python, ["-c", `import ${module}`])) === undefined) return python;
  }
  return undefined;
}

function report() {
  /** @type {Record<string, { path: string } | { missing: string }>} */
  const table = {};
  for (const { name } of services) {
    const path = found.get(name);
    table[name] = path === undefined ? { missing: missing.get(name) ?? "" } : { path };
  }
  mkdirSync(join(root, ".cache"), { recursive: true });
  writeFileSync(join(root, ".cache", "services.json"), `${JSON.stringify(table, null, 2)}\n`);
  console.log(`here: ${[...found.keys()].join(", ")}`);
  const absent = services.filter(({ name }) => !found.has(name));
  for (const { name } of absent) console.log(`missing: ${name} (${missing.get(name)})`);
  // Where a machine does nothing else but test, a test that is left out is a test that fails.
  if (absent.length > 0 && process.env.CI === "true") process.exitCode = 1;
}
