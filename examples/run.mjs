// Runs an example: `node examples/run.mjs quickstart`; without a name, lists them.
//
// An example is a folder with a main.ts, or with a server.ts that a client.ts then calls. Servers
// that offer the methods of the quickstart are called by the quickstart's client. One with a
// package.json has more dependencies, which are installed on the first run.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const typescript = pathToFileURL(join(here, "typescript.mjs")).href;
const names = readdirSync(here).filter((name) =>
  ["main.ts", "server.ts"].some((file) => existsSync(join(here, name, file))),
);

const [name] = process.argv.slice(2);
if (name === undefined || !names.includes(name)) {
  if (name !== undefined) console.error(`no example ${name}`);
  console.log(`Usage: node examples/run.mjs <${names.join(" | ")}>`);
  process.exitCode = name === undefined ? 0 : 2;
} else {
  const build = join(here, "..", "scripts", "build.mjs");
  spawnSync(process.execPath, [build, "--if-stale"], { stdio: ["ignore", "ignore", "inherit"] });
  process.exitCode = install(join(here, name)) ? await run(join(here, name)) : 1;
}

/** @param {string} folder */
function install(folder) {
  if (!existsSync(join(folder, "package.json"))) return true;
  if (existsSync(join(folder, "node_modules", ".package-lock.json"))) return true;
  console.error("Installing what this example needs …");
  const args = ["ci", "--no-audit", "--no-fund", "--ignore-scripts"];
  const shell = process.platform === "win32";
  const { status } = spawnSync("npm", args, {
    cwd: folder,
    stdio: ["ignore", "ignore", "inherit"],
    shell,
  });
  if (status !== 0) return false;
  // So that programs below a package.json of their own find the package by its name.
  const link = join(folder, "node_modules", "callwire");
  const target = shell ? join(here, "..") : "../../..";
  if (!existsSync(link)) symlinkSync(target, link, "junction");
  return true;
}

/**
 * @param {string} folder
 * @returns {Promise<number>}
 */
async function run(folder) {
  if (existsSync(join(folder, "main.ts"))) return finished(start(join(folder, "main.ts"), []));
  const own = join(folder, "client.ts");
  const client = existsSync(own) ? own : join(here, "quickstart", "client.ts");
  const server = start(join(folder, "server.ts"), [], "pipe");
  try {
    const url = await urlOf(server);
    return url === undefined ? 1 : await finished(start(client, [url]));
  } finally {
    server.kill();
  }
}

/**
 * @param {string} file
 * @param {string[]} args
 * @param {"inherit" | "pipe"} stdout
 */
function start(file, args, stdout = "inherit") {
  const child = spawn(process.execPath, ["--import", typescript, file, ...args], {
    stdio: ["ignore", stdout, "inherit"],
    // Any free port, so that examples do not conflict.
    env: { ...process.env, PORT: "0" },
  });
  // A stopped example stops its own child processes.
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
    process.on(signal, () => child.kill(signal));
  }
  return child;
}

/**
 * The address in the first line that has one; undefined if the server exits first.
 * @param {import("node:child_process").ChildProcess} server
 */
async function urlOf(server) {
  const { stdout } = server;
  if (stdout === null) throw new Error("the server's output is not piped");
  for await (const line of createInterface(stdout)) {
    console.log(line);
    const [url] = line.match(/https?:\S+/) ?? [];
    if (url !== undefined) return url;
  }
  return undefined;
}

/** @param {import("node:child_process").ChildProcess} child */
async function finished(child) {
  const [code] = await once(child, "exit");
  return code ?? 1;
}
