import type { Readable, Writable } from "node:stream";
import { NodeByteStream } from "../../streams/node-stream.ts";

/** How long the last replies may take to be read by the parent. */
const flushMs = 10_000;

/**
 * The standard streams of this process as one stream of bytes. The end of the input does not end both: the parent may
 * still wait for replies.
 */
export function ownStream(input: Readable, output: Writable, onEof: () => void): NodeByteStream {
  const over = (error?: Error): void => {
    // An open input would keep the process alive.
    input.pause();
    stream.over(error);
  };
  const end = (): void => {
    const timer = setTimeout(over, flushMs);
    stream.flushed(() => {
      clearTimeout(timer);
      // Standard output belongs to the process, which may write to it afterwards.
      if (output !== process.stdout) output.end();
      over();
    });
  };
  // Messages before the end of the input may still be held back.
  let paused = false;
  let eof = false;
  const reportEof = (): void => {
    if (!eof || paused) return;
    eof = false;
    onEof();
  };
  const setPaused = (isPaused: boolean): void => {
    paused = isPaused;
    reportEof();
  };
  const stream = new NodeByteStream(input, output, { end, destroy: over, paused: setPaused });
  input.once("end", () => {
    eof = true;
    reportEof();
  });
  input.on("error", over);
  // The parent no longer reads: a normal end, and no reason to crash.
  output.on("error", over);
  output.on("close", () => over());
  return stream;
}

let guards = 0;
let unguarded: typeof process.stdout.write | undefined;

/**
 * Redirects everything written to `process.stdout`, including `console.log`, to stderr until the returned function is
 * called: one stray line between messages would break the protocol.
 */
export function guardStdout(): () => void {
  const { stdout, stderr } = process;
  if (guards++ === 0) {
    unguarded = stdout.write;
    stdout.write = stderr.write.bind(stderr) as typeof stdout.write;
  }
  let guarded = true;
  return () => {
    if (!guarded) return;
    guarded = false;
    if (--guards === 0 && unguarded !== undefined) stdout.write = unguarded;
  };
}
