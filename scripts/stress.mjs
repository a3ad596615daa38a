// Repeats the tests under conditions that other machines have: `npm run test:stress`. Each round runs
// the whole suite, or the files that are named, under one condition after the other.
//
//   npm run test:stress -- [--rounds 1] [--only busy,shuffled] [--list] [files …]
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptOptions } from "./script-options.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const slowTimers = new URL("./slow-timers.mjs", import.meta.url).href;
const isRoot = process.getuid?.() === 0;
const asStranger = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/**
 * @typedef {object} Condition
 * @property {string} what
 * @property {string[]} [wrap] The command that starts the run, before its own words.
 * @property {string[]} [args] Of vitest.
 * @property {Record<string, string | undefined>} [env]
 * @property {boolean} [busy] Whether other programs keep all cores busy.
 * @property {boolean} [root] Whether only root can arrange it.
 * @property {boolean} [stranger] Whether a user runs it who owns only a copy.
 */

/** A network of its own, where settings of the system can be changed for one run. @param {string[]} settings */
function ownNetwork(...settings) {
  const commands = ["ip link set lo up", ...settings.map((setting) => `sysctl -qw ${setting}`)];
  return ["unshare", "--net", "sh", "-c", `${commands.join(" && ")} && exec "$@"`, "sh"];
}

/** @type {Record<string, Condition>} */
const conditions = {
  "one-worker": { what: "one worker", args: ["--maxWorkers=1"] },
  "eight-workers": { what: "eight workers", args: ["--maxWorkers=8"] },
  busy: { what: "all cores busy", busy: true },
  nice: { what: "the lowest priority, all cores busy", busy: true, wrap: ["nice", "-n", "19"] },
  timers: { what: "late timers", env: { NODE_OPTIONS: `--import=${slowTimers}` } },
  heap: { what: "a small heap", env: { NODE_OPTIONS: "--max-old-space-size=384" } },
  shuffled: { what: "tests and files in random order", args: ["--sequence.shuffle"] },
  locale: {
    what: "another locale and time zone",
    // LC_ALL, which would come first, makes shells warn if the machine does not have the locale.
    env: { LANG: "tr_TR.UTF-8", LC_ALL: undefined, LANGUAGE: "tr", TZ: "Pacific/Chatham" },
  },
  "no-ipv6": {
    what: "no IPv6",
    wrap: ownNetwork("net.ipv6.conf.all.disable_ipv6=1"),
    root: true,
  },
  ports: {
    what: "2,000 ports",
    wrap: ownNetwork('net.ipv4.ip_local_port_range="32768 34767"'),
    root: true,
  },
  stranger: { what: "an unprivileged user", root: true, stranger: true },
};

const { values: flags, positionals: files } = scriptOptions(import.meta.url, {
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "1" },
    only: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

if (flags.list) {
  for (const [name, { what }] of Object.entries(conditions))
    console.log(`${name.padEnd(14)} ${what}`);
} else process.exitCode = await main();

async function main() {
  const names = flags.only?.split(",") ?? Object.keys(conditions);
  const unknown = names.find((name) => !Object.hasOwn(conditions, name));
  if (unknown !== undefined) {
    console.error(`"${unknown}" is not a condition; --list shows them all`);
    return 2;
  }
  for (const script of ["scripts/fetch-peers.mjs", "scripts/build.mjs"]) {
    spawnSync(process.execPath, [script], { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  }
  /** @type {string[]} */
  const lines = [];
  let failed = 0;
  for (let round = 1; round <= Number(flags.rounds); round++) {
    for (const name of names) {
      const condition = /** @type {Condition} */ (conditions[name]);
      if (condition.root && !isRoot) {
        console.log(`\nskipped ${name}: only root can arrange it`);
        continue;
      }
      console.log(`\n=== round ${round}: ${condition.what}`);
      const started = performance.now();
      const good = await run(condition);
      const seconds = ((performance.now() - started) / 1000).toFixed(0);
      if (!good) failed++;
      lines.push(`${good ? "ok    " : "FAILED"} ${seconds.padStart(5)} s  round ${round}, ${name}`);
    }
  }
  console.log(`\n=== summary\n${lines.join("\n")}`);
  return failed === 0 ? 0 : 1;
}

/** @param {Condition} condition */
async function run({ wrap = [], args = [], env = {}, busy = false, stranger = false }) {
  const load = busy ? Array.from({ length: availableParallelism() }, keepBusy) : [];
  const place = stranger ? copyForStranger() : root;
  const vitest = [
    process.execPath,
    join(place, "node_modules", "vitest", "vitest.mjs"),
    "run",
    "--reporter=./scripts/test-reporter.mjs",
    ...args,
    ...files,
  ];
  const [command = "", ...rest] = [...wrap, ...(stranger ? asStranger : []), ...vitest];
  const home = stranger ? { HOME: join(place, ".cache") } : {};
  const child = spawn(command, rest, {
    cwd: place,
    stdio: "inherit",
    env: { ...process.env, ...env, ...home },
  });
  const stop = () => child.kill();
  process.once("SIGINT", stop);
  const code = await new Promise((resolve) => child.once("close", resolve).once("error", resolve));
  process.off("SIGINT", stop);
  for (const each of load) each.kill();
  if (stranger) rmSync(dirname(place), { recursive: true, force: true });
  return code === 0;
}

function keepBusy() {
  return spawn(process.execPath, ["-e", "for (;;);"], { stdio: "ignore" });
}

/** The tracked files in a folder of the other user's, with what was installed beside them. */
function copyForStranger() {
  const place = join(mkdtempSync(join(tmpdir(), "callwire-stress-")), "callwire");
  spawnSync("git", ["clone", "-q", root, place]);
  cpSync(join(root, "dist"), join(place, "dist"), { recursive: true });
  const installed = [
    "test/browser",
    "test/interop",
    "test/mcp/peers",
    "test/a2a/peers",
    "examples/tracing",
    "examples/board",
    "examples/photo",
    "examples/vue",
  ];
  for (const folder of [".", "playground", "test/runtimes/binaries", ...installed]) {
    const from = join(root, folder, "node_modules");
    try {
      readFileSync(join(from, ".package-lock.json"));
      symlinkSync(from, join(place, folder, "node_modules"));
    } catch {
      // Not installed; its tests are skipped.
    }
  }
  mkdirSync(join(place, ".cache"));
  spawnSync("chown", ["-R", "65534:65534", dirname(place)]);
  const fetch = [...asStranger, process.execPath, "scripts/fetch-peers.mjs"];
  spawnSync(fetch[0] ?? "", fetch.slice(1), { cwd: place, stdio: ["ignore", "ignore", "inherit"] });
  return place;
}
