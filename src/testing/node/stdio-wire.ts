import { type ChildProcess, spawn } from "node:child_process";
import { type FramingChoice, framingOf } from "../../framing/named.ts";
import type { LineWire } from "../conformance/wire.ts";
import { framedLine } from "./framed-line.ts";

export interface StdioConformanceOptions {
  /** As the server has it. @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
  /** The working directory of the program. @default that of this process */
  readonly cwd?: string | undefined;
  /** The environment of the program. @default that of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** How long a child may take to end by itself once its input has ended, and again after SIGTERM. */
const patienceMs = 1_000;

/**
 * A program that speaks on its standard input and output; what it says on stderr is passed over.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { stdioConformanceWire } from "callwire/testing/node";
 *
 * const report = await runConformance(stdioConformanceWire("python3", ["server.py"]));
 * console.log(report.ok);
 * ```
 */
export function stdioConformanceWire(
  command: string,
  args: readonly string[] = [],
  options: StdioConformanceOptions = {},
): LineWire {
  const framing = framingOf(options.framing);
  return {
    kind: "line",
    name: "stdio",
    address: `stdio:${[command, ...args].join(" ")}`,
    abilities: new Set(["stream", framing.name]),
    ownsServer: true,
    open: (listener, signal) =>
      new Promise((resolve, reject) => {
        signal.throwIfAborted();
        const { cwd, env } = options;
        const child = spawn(command, args, { cwd, env, stdio: ["pipe", "pipe", "ignore"] });
        let stopping = false;
        const { line, push } = framedLine(framing, listener, {
          write: (bytes) => void (child.stdin.writable && child.stdin.write(bytes)),
          close() {
            stopping = true;
            stop(child);
          },
        });
        child.once("error", reject);
        child.once("spawn", () => {
          child.off("error", reject);
          child.on("error", () => {});
          resolve(line);
        });
        child.stdout.on("data", push);
        // Writing to a program that has ended; its exit is told below.
        child.stdin.on("error", () => {});
        child.once("close", (code, killed) => {
          const how = killed === null ? `with the code ${code}` : `by ${killed}`;
          listener.end(`the program ended ${how}`, !stopping && code !== 0);
        });
      }),
  };
}

function stop(child: ChildProcess): void {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.stdin?.end();
  const term = setTimeout(() => child.kill("SIGTERM"), patienceMs);
  const kill = setTimeout(() => child.kill("SIGKILL"), 2 * patienceMs);
  child.once("exit", () => {
    clearTimeout(term);
    clearTimeout(kill);
  });
}
