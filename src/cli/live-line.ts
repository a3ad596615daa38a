import { jsonLine, Terminal } from "./terminal.ts";

/** A line of stderr that is overwritten; does nothing in a pipe. */
export class LiveLine {
  readonly #terminal = new Terminal(process.stderr);
  #shown = false;

  show(text: string): void {
    if (!this.#terminal.isTerminal) return;
    this.#shown = true;
    // A wrapped line cannot be overwritten.
    process.stderr.write(
      `\r\u001b[K${this.#terminal.safe(text.slice(0, this.#terminal.width - 1))}`,
    );
  }

  clear(): void {
    if (this.#shown) process.stderr.write("\r\u001b[K");
    this.#shown = false;
  }
}

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** A bar for a fraction between 0 and 1; `width` is that of 1. */
export function bar(part: number, width: number): string {
  const filled = Math.max(0, Math.min(1, part)) * width;
  const whole = Math.floor(filled);
  return "█".repeat(whole) + (eighths[Math.floor((filled - whole) * 8)] ?? "");
}

export class ProgressLine {
  readonly #line = new LiveLine();

  report(value: unknown): void {
    const part = partOf(value);
    const rest = jsonLine(value);
    this.#line.show(part === undefined ? rest : `${bar(part, 20).padEnd(20, "░")} ${rest}`);
  }

  clear(): void {
    this.#line.clear();
  }
}

function partOf(value: unknown): number | undefined {
  const { percent, percentage, progress, total } = (
    typeof value === "object" && value !== null ? value : {}
  ) as Record<string, unknown>;
  const share = percent ?? percentage;
  if (typeof share === "number") return share / 100;
  if (typeof progress === "number" && typeof total === "number") return progress / total;
  return undefined;
}
