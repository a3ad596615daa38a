/** Runs the built command line as users do: in a process of its own. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "../entries.ts";
import { waitMs } from "../limits.ts";

const run = promisify(execFile);

export const cli: string = join(root, "dist", "cli", "main.js");

let built: Promise<unknown> | undefined;

/** Brings dist/ up to date, once for all files that this process runs. Another process may do the same meanwhile. */
export function build(): Promise<unknown> {
  const attempt = () =>
    run(process.execPath, ["scripts/build.mjs", "--if-stale"], { cwd: root, timeout: waitMs });
  built ??= attempt().catch(attempt);
  return built;
}

export interface Exit {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Variables that would change what a command prints, or how it authenticates. */
const steering = /^(FORCE_COLOR|NO_COLOR|NODE_DISABLE_COLORS|NATS_.*)$/;

/** The environment of the tests, without those variables. */
export const environment: NodeJS.ProcessEnv = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !steering.test(name)),
);

/** A running command. `await using` ends it with the test. */
export class Process implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;
  stdout = "";
  stderr = "";
  /** Set when it has ended and all of its output was read, which may be a little later. */
  #closed = false;
  readonly #watchers = new Set<() => void>();

  constructor(command: string, args: readonly string[], options: StartOptions = {}) {
    const env = { ...environment, ...options.env };
    this.child = spawn(command, args, { cwd: options.cwd ?? root, env });
    const { stdout, stderr } = this.child;
    stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
      for (const watch of this.#watchers) watch();
    });
    stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
      for (const watch of this.#watchers) watch();
    });
    this.exited = new Promise((resolve, reject) => {
      this.child.on("error", reject).on("close", (code) => {
        this.#closed = true;
        resolve({ code, stdout: this.stdout, stderr: this.stderr });
        for (const watch of this.#watchers) watch();
      });
    });
  }

  /** The first match in the output, now or later; rejects if the process ends without one. */
  shown(pattern: RegExp, on: "stdout" | "stderr" = "stdout"): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const watch = (): void => {
        const match = pattern.exec(this[on]);
        if (match === null && !this.#closed) return;
        this.#watchers.delete(watch);
        if (match !== null) resolve(match);
        else reject(new Error(`ended without showing ${pattern}: ${this.stdout}${this.stderr}`));
      };
      this.#watchers.add(watch);
      watch();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exited;
  }
}

export function start(args: readonly string[], options?: StartOptions): Process {
  return new Process(process.execPath, [cli, ...args], options);
}

/** The same in a terminal, which `script` provides; what is typed goes to its input. */
export function startInTerminal(args: readonly string[]): Process {
  const quoted = [process.execPath, cli, ...args].map((word) => `'${word}'`).join(" ");
  return new Process("script", ["--quiet", "--return", "--command", quoted, "/dev/null"], {
    env: { NO_COLOR: "1", TERM: "xterm" },
  });
}

/** For a command whose own limits a busy machine might reach. */
export const inSlowTime: StartOptions = {
  env: {
    NODE_OPTIONS: [
      process.env["NODE_OPTIONS"] ?? "",
      `--import=${new URL("slow-time.mjs", import.meta.url).href}`,
    ]
      .join(" ")
      .trim(),
  },
};

/** Runs a command that ends without a signal. */
export function finish(args: readonly string[], options?: StartOptions): Promise<Exit> {
  return start(args, options).exited;
}

/** The demo on a free port, with the address at which it answers. */
export async function startDemo(
  args: readonly string[] = [],
): Promise<Process & { readonly origin: string }> {
  const demo = start(["demo", "--port", "0", ...args]);
  const [origin] = await demo.shown(/http:\/\/127\.0\.0\.1:\d+/);
  return Object.assign(demo, { origin });
}
