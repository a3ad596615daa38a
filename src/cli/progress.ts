import { jsonLine } from "./json-view.ts";
import { bar, LiveLine } from "./live-line.ts";
import { Terminal } from "./terminal.ts";

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
