import { type ChildProcess, spawn } from "node:child_process";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { FrameSink, Framing } from "../../framing/framing.ts";
import { type FramingChoice, framingOf } from "../../framing/framing-choice.ts";
import type { WireAbility } from "../conformance/case.ts";
import {
  isLoopback,
  type Line,
  type LineListener,
  type LineWire,
} from "../conformance/conformance-wire.ts";

export interface SocketConformanceOptions {
  /** The framing of the server. @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
}

/**
 * TCP, TLS or a unix socket: `tcp://host:port`, `tls://host:port` or `unix:path`.
 * @example
 * ```ts
 * import { runConformance } from "callwire/testing";
 * import { socketConformanceWire } from "callwire/testing/node";
 *
 * const wire = socketConformanceWire("tcp://127.0.0.1:9000", { framing: "content-length" });
 * console.log((await runConformance(wire)).ok);
 * ```
 */
export function socketConformanceWire(
  address: string,
  options: SocketConformanceOptions = {},
): LineWire {
  const framing = framingOf(options.framing);
  const { name, dial, local } = targetOf(address);
  const abilities: WireAbility[] = ["stream", framing.name];
  if (local) abilities.push("loopback");
  return {
    kind: "line",
    name,
    address,
    abilities: new Set(abilities),
    open: (listener, signal) =>
      new Promise((resolve, reject) => {
        const socket = dial();
        socket.setNoDelay(true);
        const abort = (): void => {
          socket.destroy();
          reject(signal.reason);
        };
        signal.addEventListener("abort", abort);
        const { line, push } = framedLine(framing, listener, {
          write: (bytes) => void (socket.writable && socket.write(bytes)),
          close: () => socket.destroy(),
        });
        socket.once(name === "TLS" ? "secureConnect" : "connect", () => {
          signal.removeEventListener("abort", abort);
          resolve(line);
        });
        let reason = "the connection was closed";
        socket.on("error", (error: NodeJS.ErrnoException) => {
          // An AggregateError for several addresses has an empty message.
          reason = error.message || (error.code ?? reason);
          reject(new Error(reason, { cause: error }));
        });
        socket.on("data", push);
        socket.on("end", () => socket.end());
        socket.on("close", () => {
          signal.removeEventListener("abort", abort);
          listener.end(reason);
        });
        if (signal.aborted) abort();
      }),
  };
}

function targetOf(address: string): { name: string; dial: () => Socket; local: boolean } {
  if (address.startsWith("unix:")) {
    const path = address.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    if (path !== "") return { name: "unix socket", dial: () => connect({ path }), local: true };
  }
  const { protocol, hostname, port } = URL.canParse(address) ? new URL(address) : noUrl;
  if ((protocol !== "tcp:" && protocol !== "tls:") || hostname === "" || port === "") {
    throw new TypeError(
      `the address must be tcp://host:port, tls://host:port or unix:path, not "${address}"`,
    );
  }
  const where = { host: hostname.replace(/^\[|\]$/g, ""), port: Number(port) };
  return protocol === "tcp:"
    ? { name: "TCP", dial: () => connect(where), local: isLoopback(hostname) }
    : { name: "TLS", dial: () => connectTls(where), local: isLoopback(hostname) };
}

const noUrl = { protocol: "", hostname: "", port: "" };

export interface StdioConformanceOptions {
  /** The framing of the server. @default newlineFraming */
  readonly framing?: FramingChoice | undefined;
  /** Working directory of the program. @default that of this process */
  readonly cwd?: string | undefined;
  /** Environment of the program. @default that of this process */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** How long a child may take to exit after its input ended, and again after SIGTERM. */
const patienceMs = 1_000;

/**
 * A program that serves on its standard input and output; its stderr is ignored.
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
        // A write after the program exited; `close` below reports the exit.
        child.stdin.on("error", () => {});
        child.once("close", (code, killed) => {
          const how = killed === null ? `with code ${code}` : `by ${killed}`;
          listener.end(`the program exited ${how}`, !stopping && code !== 0);
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

/** Longer than any answer to the cases, in bytes. */
const longestAnswer = 64 * 1024 * 1024;

/** Where the bytes of a connection go. */
export interface ByteSink {
  write(bytes: Uint8Array): void;
  close(): void;
}

/** Messages on a byte stream; the owner of the stream passes received bytes to `push`. */
function framedLine(framing: Framing, listener: LineListener, to: ByteSink) {
  const decoder = framing.decoder({ maxMessageBytes: longestAnswer });
  const sink: FrameSink = {
    text: (message) => listener.message(message),
    fault: ({ message }) => listener.end(`cannot read the answer: ${message}`),
  };
  const line: Line = {
    send: (message) => to.write(typeof message === "string" ? encode(message) : framed(message)),
    encode,
    write: (bytes) => to.write(bytes),
    close: () => to.close(),
  };
  function encode(text: string): Uint8Array {
    const frame = framing.encode(text);
    return typeof frame === "string" ? Buffer.from(frame) : frame;
  }
  /** Frames bytes by replacing the content of a string frame of the same length. */
  function framed(bytes: Uint8Array): Uint8Array {
    const frame = encode("x".repeat(bytes.length));
    const start = framing.name === "newline" ? 0 : frame.length - bytes.length;
    frame.set(bytes, start);
    return frame;
  }
  return { line, push: (chunk: Uint8Array) => decoder.push(chunk, sink) };
}
