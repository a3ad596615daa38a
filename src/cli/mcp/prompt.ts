import { createInterface, type Interface } from "node:readline";
import { Terminal } from "../terminal.ts";

/** Gives the next line that is typed; undefined when there will be none (Ctrl-D, Ctrl-C). */
export type Ask = (question: string) => Promise<string | undefined>;

/** Asks the person at the terminal, one matter at a time. Results go to stdout, so questions go to stderr. */
export class Prompt {
  readonly terminal = new Terminal(process.stderr);
  readonly #signal: AbortSignal;
  #last: Promise<unknown> = Promise.resolve();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Whether there is somebody to ask. */
  static get isPossible(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  /** Has the terminal for itself until it is done. */
  alone<T>(run: (ask: Ask) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const both = signal === undefined ? this.#signal : AbortSignal.any([this.#signal, signal]);
    const done = this.#last.then(() => this.#run(run, both));
    this.#last = done.catch(() => {});
    return done;
  }

  async #run<T>(run: (ask: Ask) => Promise<T>, signal: AbortSignal): Promise<T> {
    const input = createInterface({ input: process.stdin, output: process.stderr, terminal: true });
    const lines = new Lines(input);
    const close = (): void => input.close();
    signal.addEventListener("abort", close, { once: true });
    // In this mode the terminal leaves Ctrl-C to the program.
    input.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    // A line that shows how far a call is has to make room.
    process.stderr.write("\r\u001b[K");
    try {
      if (signal.aborted) close();
      return await run(async (question) => {
        const line = await lines.ask(question);
        // The cursor stays where the question was.
        if (line === undefined && !signal.aborted) process.stderr.write("\n");
        return line;
      });
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  }
}

/** What is typed, also ahead of the question. */
class Lines {
  readonly #input: Interface;
  readonly #typed: string[] = [];
  #isOver = false;
  #wake: () => void = () => {};

  constructor(input: Interface) {
    this.#input = input;
    input.on("line", (line) => {
      this.#typed.push(line);
      this.#wake();
    });
    input.on("close", () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  async ask(question: string): Promise<string | undefined> {
    if (!this.#isOver) {
      this.#input.setPrompt(question);
      this.#input.prompt();
    }
    for (;;) {
      const line = this.#typed.shift();
      if (line !== undefined || this.#isOver) return line;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
