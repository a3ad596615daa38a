import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Connection } from "../../connection/connection.ts";
import { type EndOptions, longestMessage } from "../../connection/end-options.ts";
import type { Notices } from "../../connection/notices.ts";
import { StreamChannel } from "../../connection/stream-channel.ts";
import { type FramingChoice, framingOf } from "../../framing/named.ts";
import { longestDelayMs } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import { limitsFrom } from "../../protocol/limits.ts";
import { childStream } from "./child-stream.ts";
import { watchOver } from "./children.ts";
import { childEnvironment } from "./environment.ts";

export interface ProcessOptions extends EndOptions {
  /** Language servers speak "content-length". @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
  /** The working directory of the child. @default that of this process */
  readonly cwd?: string | URL | undefined;
  /**
   * Added to what every child gets: PATH, HOME, LANG, TERM and the like. The rest of the
   * environment may hold secrets; `process.env` here passes all of it.
   */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** What becomes of what the child writes to stderr; its tail is part of the error when the child dies. @default "inherit" */
  readonly stderr?: "inherit" | "ignore" | ((chunk: Uint8Array) => void) | undefined;
  /** How long the child may take to exit by itself, and again after SIGTERM, before SIGKILL. @default 2000 */
  readonly killAfterMs?: number | undefined;
  /** Names for cancelling and for progress, of a protocol that has its own. */
  readonly notices?: Notices | undefined;
}

/**
 * Starts a program, without a shell, and connects to its standard input and output. Rejects with
 * `CONNECTION_FAILED` when it cannot be started. The child ends with the connection.
 * @example
 * ```ts
 * import { spawnConnection } from "callwire/stdio";
 *
 * const connection = await spawnConnection("python3", ["server.py"], { stderr: "inherit" });
 * console.log(await connection.call("math/add", { a: 2, b: 3 }));
 * connection.close(); // ends the program too
 * ```
 */
export async function spawnConnection(
  command: string,
  args: readonly string[] = [],
  options: ProcessOptions = {},
): Promise<Connection> {
  const { service } = options;
  const framing = framingOf(options.framing);
  const limits = limitsFrom({ ...service?.limits, ...options.limits });
  const child = await started(command, args, options);
  const stream = childStream(child, {
    name: command,
    stderr: stderrSink(options.stderr ?? "inherit"),
    killAfterMs: Math.min(options.killAfterMs ?? 2_000, longestDelayMs),
  });
  const own = new StreamChannel(stream, {
    framing,
    maxMessageBytes: longestMessage(limits),
  });
  const channel = options.wrapChannel?.(own) ?? own;
  return new Connection(channel, {
    service,
    limits,
    log: options.log,
    seal: options.seal,
    tap: options.tap,
    transport: { kind: "stdio", headers: {}, remoteAddress: undefined },
    // A line that a library prints, such as a banner, is a nuisance and no reason to end the child.
    maxStrikes: Number.POSITIVE_INFINITY,
    notices: options.notices,
  });
}

function started(
  command: string,
  args: readonly string[],
  { cwd, env }: ProcessOptions,
): Promise<ChildProcessWithoutNullStreams> {
  return new Promise((resolve, reject) => {
    const fail = (error: unknown): void => {
      const reason = error instanceof Error ? error.message : String(error);
      const sentence = `cannot start ${command}: ${reason}`;
      reject(new WireError("CONNECTION_FAILED", sentence, { cause: error }));
    };
    try {
      const child = spawn(command, args, {
        cwd,
        env: childEnvironment(env),
        shell: false,
        stdio: ["pipe", "pipe", "pipe"],
        windowsHide: true,
      });
      child.once("error", fail);
      child.once("spawn", () => {
        child.off("error", fail);
        // A signal that cannot be sent: it is on its way out.
        child.on("error", () => {});
        watchOver(child);
        resolve(child);
      });
    } catch (error) {
      fail(error);
    }
  });
}

function stderrSink(choice: NonNullable<ProcessOptions["stderr"]>): (chunk: Buffer) => void {
  if (choice === "inherit") return (chunk) => process.stderr.write(chunk);
  return choice === "ignore" ? () => {} : choice;
}
