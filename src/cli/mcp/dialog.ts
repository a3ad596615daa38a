import { createInterface, type Interface } from "node:readline";
import { Terminal } from "../terminal.ts";

/** Resolves with the next typed line; undefined after Ctrl-D or Ctrl-C. */
export type Ask = (question: string) => Promise<string | undefined>;

/** Asks the user on stderr, one dialog at a time; stdout is for results. */
export class Dialog {
  readonly terminal = new Terminal(process.stderr);
  readonly #signal: AbortSignal;
  #last: Promise<unknown> = Promise.resolve();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  static get isPossible(): boolean {
    return process.stdin.isTTY === true && process.stderr.isTTY === true;
  }

  /** Runs a dialog with exclusive use of the terminal. */
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
    // In raw mode the terminal does not send SIGINT.
    input.on("SIGINT", () => process.kill(process.pid, "SIGINT"));
    // Erase the progress line.
    process.stderr.write("\r\u001b[K");
    try {
      if (signal.aborted) close();
      return await run(async (question) => {
        const line = await lines.ask(question);
        // The cursor is still behind the question.
        if (line === undefined && !signal.aborted) process.stderr.write("\n");
        return line;
      });
    } finally {
      signal.removeEventListener("abort", close);
      close();
    }
  }
}

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
