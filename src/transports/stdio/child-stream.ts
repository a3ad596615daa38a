import type { ChildProcess, ChildProcessWithoutNullStreams } from "node:child_process";
import { NodeByteStream } from "../../streams/node-stream.ts";

const tailBytes = 2_048;
/** How long the rest of its output may take to arrive after a child has exited. */
const restMs = 250;
/** How long the exit may take after the end of the output: on a busy machine the system is slow to tell of it. */
const exitMs = 2_000;

export interface ChildStreamOptions {
  readonly name: string;
  readonly stderr: (chunk: Buffer) => void;
  readonly killAfterMs: number;
}

/** The standard streams of a running child as one stream of bytes, which is over when the child is. */
export function childStream(
  child: ChildProcessWithoutNullStreams,
  { name, stderr, killAfterMs }: ChildStreamOptions,
): NodeByteStream {
  const lastWords = new Tail(tailBytes);
  let stopping = false;

  const over = (): void => {
    clearTimeout(timer);
    child.stdout.destroy();
    // What the child has started itself may hold this open, and must not keep this process alive.
    if (hasExited()) child.stderr.destroy();
    stream.over(stopping ? undefined : endOf(name, child, lastWords));
  };
  let timer: NodeJS.Timeout | undefined;
  const settle = (ms: number, run: () => void): void => {
    clearTimeout(timer);
    // After what has arrived by then: a process that slept finds that and the time waiting.
    timer = setTimeout(() => setImmediate(run), ms);
  };

  const hasExited = (): boolean => child.exitCode !== null || child.signalCode !== null;
  /** Sends the signals one after the other until the child is gone. */
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
    // What it still says is thrown away, or it could wait for a reader for ever.
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
    // A child that closes its output but lives on is of no use, and must not stay behind.
    settle(exitMs, () => {
      over();
      stop("SIGTERM", "SIGKILL");
    });
  });
  return stream;
}

/** What is thrown for a child that ended; `how` is the same without what it said, for who has shown that already. */
function endOf(
  name: string,
  { exitCode, signalCode }: ChildProcessWithoutNullStreams,
  lastWords: Tail,
): Error & { readonly how: string } {
  const what =
    signalCode !== null
      ? `was ended by ${signalCode}`
      : exitCode !== null
        ? `exited with code ${exitCode}`
        : "closed its output";
  const how = `${name} ${what}`;
  const words = lastWords.toString();
  return Object.assign(new Error(words === "" ? how : `${how} and said: ${words}`), { how });
}

/** The last bytes of what a process said. */
export class Tail {
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

/** Takes care that a child does not outlive this process. */
export function watchOver(child: ChildProcess): void {
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
