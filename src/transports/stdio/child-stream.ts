import type { ChildProcess, ChildProcessWithoutNullStreams } from "node:child_process";
import { NodeByteStream } from "../../streams/node-stream.ts";

const tailBytes = 2_048;
/** How long the rest of the output may take to arrive after a child has exited. */
const restMs = 250;
/** How long the exit may take after the end of the output; a busy system reports it late. */
const exitMs = 2_000;

export interface ChildStreamOptions {
  readonly name: string;
  readonly stderr: (chunk: Buffer) => void;
  readonly killAfterMs: number;
}

/** The standard streams of a child as one stream of bytes, which closes with the child. */
export function childStream(
  child: ChildProcessWithoutNullStreams,
  { name, stderr, killAfterMs }: ChildStreamOptions,
): NodeByteStream {
  const lastWords = new Tail(tailBytes);
  let stopping = false;

  const over = (): void => {
    clearTimeout(timer);
    child.stdout.destroy();
    // Processes that the child started may hold this open, and must not keep this process alive.
    if (hasExited()) child.stderr.destroy();
    stream.over(stopping ? undefined : endOf(name, child, lastWords));
  };
  let timer: NodeJS.Timeout | undefined;
  const settle = (ms: number, run: () => void): void => {
    clearTimeout(timer);
    // After pending input: a process that slept finds both the input and the timer due.
    timer = setTimeout(() => setImmediate(run), ms);
  };

  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  /** Sends the signals in turn until the child has exited. */
  const stop = (...signals: NodeJS.Signals[]): void => {
    const [signal, ...rest] = signals;
    if (signal === undefined || hasExited()) return;
    child.kill(signal);
    const next = setTimeout(stop, killAfterMs, ...rest);
    child.once("exit", () => clearTimeout(next));
  };
  const end = (): void => {
    if (stopping) return;
    stopping = true;
    // Discards further output, or the child could block on it forever.
    child.stdout.resume();
    child.stdin.end();
    const patience = setTimeout(stop, killAfterMs, "SIGTERM", "SIGKILL");
    child.once("exit", () => clearTimeout(patience));
  };
  const destroy = (): void => {
    stopping = true;
    child.stdin.destroy();
    stop("SIGTERM", "SIGKILL");
  };

  const stream = new NodeByteStream(child.stdout, child.stdin, { end, destroy });
  child.stderr.on("data", (chunk: Buffer) => {
    lastWords.add(chunk);
    stderr(chunk);
  });
  for (const each of [child.stdin, child.stdout, child.stderr]) each.on("error", () => {});
  child.on("exit", () => settle(restMs, over));
  child.on("close", over);
  child.stdout.on("end", () => {
    if (stopping || hasExited()) return;
    // A child that closes its output but keeps running is useless, and is stopped.
    settle(exitMs, () => {
      over();
      stop("SIGTERM", "SIGKILL");
    });
  });
  return stream;
}

/** The error for a child that exited; `how` leaves out its output, for callers that have shown it. */
function endOf(
  name: string,
  { exitCode, signalCode }: ChildProcessWithoutNullStreams,
  lastWords: Tail,
): Error & { readonly how: string } {
  const what =
    signalCode !== null
      ? `was killed by ${signalCode}`
      : exitCode !== null
        ? `exited with code ${exitCode}`
        : "closed its output";
  const how = `${name} ${what}`;
  const words = lastWords.toString();
  return Object.assign(new Error(words === "" ? how : `${how}; its last output: ${words}`), {
    how,
  });
}

/** The last bytes of a process's output. */
class Tail {
  readonly #maxBytes: number;
  #bytes = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  add(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk]).subarray(-this.#maxBytes);
  }

  toString(): string {
    return this.#bytes.toString().trim();
  }
}

const living = new Set<ChildProcess>();

/** Kills a child that would outlive this process. */
export function killOnExit(child: ChildProcess): void {
  if (living.size === 0) process.on("exit", endAll);
  living.add(child);
  child.once("exit", () => {
    living.delete(child);
    if (living.size === 0) process.off("exit", endAll);
  });
}

function endAll(): void {
  for (const child of living) child.kill();
}
