import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { onTestFinished } from "vitest";

/** A child whose input the test writes. */
export class RawChild {
  readonly process: ChildProcessWithoutNullStreams;
  /** How it ended, once all of its output has been read. */
  readonly ended: Promise<{ readonly code: number | null; readonly signal: string | null }>;
  stdout = "";
  stderr = "";
  #changed: () => void = () => {};

  constructor(command: string, args: readonly string[]) {
    this.process = spawn(command, args);
    this.process.stdin.on("error", () => {});
    this.process.stdout.on("data", (chunk) => this.#hear("stdout", chunk));
    this.process.stderr.on("data", (chunk) => this.#hear("stderr", chunk));
    this.ended = new Promise((resolve) =>
      this.process.once("close", (code, signal) => resolve({ code, signal })),
    );
    onTestFinished(() => void this.process.kill("SIGKILL"));
  }

  send(...lines: string[]): this {
    this.process.stdin.write(lines.map((line) => `${line}\n`).join(""));
    return this;
  }

  /** Waits for this text on a stream. */
  async heard(stream: "stdout" | "stderr", text: string): Promise<void> {
    while (!this[stream].includes(text)) {
      await new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
    }
  }

  #hear(stream: "stdout" | "stderr", chunk: Buffer): void {
    this[stream] += chunk.toString();
    this.#changed();
  }
}
