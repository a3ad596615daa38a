import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { Connection } from "../../connection/connection.ts";
import { type ConnectingOptions, maxIncomingBytes } from "../../connection/connection-options.ts";
import type { Notices } from "../../connection/notices.ts";
import {
  type ByteStream,
  StreamChannel,
  type StreamChannelOptions,
} from "../../connection/stream-channel.ts";
import type { FrameFault } from "../../framing/framing.ts";
import { type FramingChoice, framingOf } from "../../framing/framing-choice.ts";
import { longestDelayMs } from "../../protocol/clock.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import { WireError } from "../../protocol/errors.ts";
import { limitsFrom } from "../../protocol/limits.ts";
import { childStream, killOnExit } from "./child-stream.ts";

export interface ProcessOptions extends ConnectingOptions {
  /** How messages are separated; language servers use "content-length". @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
  /** The working directory of the child. @default that of this process */
  readonly cwd?: string | URL | undefined;
  /**
   * Added to what every child gets: PATH, HOME, LANG, TERM and the like. The rest of the environment may hold
   * secrets; pass `process.env` to give the child all of it. @default nothing more
   */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** What happens to the child's stderr; its tail is part of the error if the child exits. @default "inherit" */
  readonly stderr?: "inherit" | "ignore" | ((chunk: Uint8Array) => void) | undefined;
  /** How long the child may take to exit by itself, and again after SIGTERM, before SIGKILL. @default 2000 */
  readonly killAfterMs?: number | undefined;
  /** Notifications for cancelling and progress, of a protocol with its own. */
  readonly notices?: Notices | undefined;
}

/**
 * Starts a program, without a shell, and connects to its standard input and output. Rejects with `CONNECTION_FAILED`
 * if it cannot be started. The child ends with the connection.
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
  const own = new ChildChannel(command, stream, {
    framing,
    maxMessageBytes: maxIncomingBytes(limits),
    // Gathers the calls of everything read in this turn, for example on the sockets of a gateway.
    defer: setImmediate,
  });
  const channel = options.wrapChannel?.(own) ?? own;
  return new Connection(channel, {
    service,
    limits,
    log: options.log ?? service?.log ?? consoleLog,
    seal: options.seal,
    tap: options.tap,
    transport: { kind: "stdio", headers: {}, remoteAddress: undefined },
    // A line that a library prints, such as a banner, is not a reason to stop the child.
    maxStrikes: Number.POSITIVE_INFINITY,
    notices: options.notices,
  });
}

/** Names the program in errors about its output: a log line there looks like a fault of the protocol. */
class ChildChannel extends StreamChannel {
  readonly #name: string;

  constructor(name: string, stream: ByteStream, options: StreamChannelOptions) {
    super(stream, options);
    this.#name = name;
  }

  override fault(fault: FrameFault): void {
    const message = `${this.#name} printed what is not a message: ${fault.message}`;
    super.fault(fault.fatal ? { ...fault, message } : fault);
  }
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
        // A signal could not be sent, because the child is exiting.
        child.on("error", () => {});
        killOnExit(child);
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

const names =
  process.platform === "win32"
    ? [
        "APPDATA",
        "HOMEDRIVE",
        "HOMEPATH",
        "LOCALAPPDATA",
        "PATH",
        "PATHEXT",
        "PROCESSOR_ARCHITECTURE",
        "PROGRAMFILES",
        "SYSTEMDRIVE",
        "SYSTEMROOT",
        "TEMP",
        "TMP",
        "USERNAME",
        "USERPROFILE",
      ]
    : [
        "HOME",
        "LANG",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "TMPDIR",
        "TZ",
        "USER",
      ];

/** The environment of a child; the rest of ours may hold secrets. */
function childEnvironment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const environment: NodeJS.ProcessEnv = {};
  for (const name of names) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  return { ...environment, ...extra };
}
