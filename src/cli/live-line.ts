import { jsonLine, Terminal } from "./terminal.ts";

/** One line of a terminal that is written again and again; nothing at all in a pipe. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  readonly #terminal: Terminal;
  #shown = false;

  constructor(stream: NodeJS.WriteStream, terminal: Terminal) {
    this.#stream = stream;
    this.#terminal = terminal;
  }

  show(text: string): void {
    if (!this.#terminal.isTerminal) return;
    this.#shown = true;
    // Cut, because a line that wraps cannot be taken back.
    this.#stream.write(`\r\u001b[K${this.#terminal.safe(text.slice(0, this.#terminal.width - 1))}`);
  }

  /** Makes room for something that stays. */
  clear(): void {
    if (this.#shown) this.#stream.write("\r\u001b[K");
    this.#shown = false;
  }
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar of so many characters, filled to a part of 1. */
export function bar(part: number, width: number): string {
  const filled = Math.max(0, Math.min(1, part)) * width;
  const whole = Math.floor(filled);
  return "█".repeat(whole) + (eighths[Math.floor((filled - whole) * 8)] ?? "");
}

/** Shows on a terminal how far a call is. */
export class ProgressLine {
  readonly #line = new LiveLine(process.stderr, new Terminal(process.stderr));

  report(value: unknown): void {
    const part = partOf(value);
    const rest = jsonLine(value);
    this.#line.show(part === undefined ? rest : `${bar(part, 20).padEnd(20, "░")} ${rest}`);
  }

  clear(): void {
    this.#line.clear();
  }
}

/** Servers report progress as they like; these are the usual ways. */
function partOf(value: unknown): number | undefined {
  const { percent, percentage, progress, total } = (
    typeof value === "object" && value !== null ? value : {}
  ) as Record<string, unknown>;
  const hundredths = percent ?? percentage;
  if (typeof hundredths === "number") return hundredths / 100;
  if (typeof progress === "number" && typeof total === "number") return progress / total;
  return undefined;
}
