import type { Log } from "../protocol/log.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";
import { printable } from "../protocol/printable.ts";

/** Nobody needs more of a name that somebody made up. */
const longestText = 256;

/** One line, as an object without objects in it. */
export type Fields = Readonly<Record<string, unknown>>;

/** Lines on their way to a sink, which may fail. */
export class AuditTrail {
  readonly #sink: (line: string) => unknown;
  readonly #maxPending: number;
  #pending = 0;
  /** Lines that no sink took since the last report. */
  #lost = 0;
  #isReported = false;

  constructor(sink: (line: string) => unknown, maxPending: number) {
    this.#sink = sink;
    this.#maxPending = maxPending;
  }

  /** Writes a line, and goes on if that fails. */
  write(fields: Fields, log?: Log): void {
    void this.writeSurely(fields, log);
  }

  /** Whether the line was written. */
  writeSurely(fields: Fields, log?: Log): MaybePromise<boolean> {
    if (this.#pending >= this.#maxPending) return this.#failed(new Error("it is too slow"), log);
    try {
      const written = this.#sink(lineOf(fields));
      if (!isThenable(written)) return this.#done(log);
      this.#pending++;
      return written.then(
        () => {
          this.#pending--;
          return this.#done(log);
        },
        (error: unknown) => {
          this.#pending--;
          return this.#failed(error, log);
        },
      );
    } catch (error) {
      return this.#failed(error, log);
    }
  }

  #done(log: Log | undefined): true {
    if (this.#lost > 0 && log !== undefined) {
      log.warn({ lost: this.#lost }, "the audit log is written again, and lacks lines");
      this.#lost = 0;
      this.#isReported = false;
    }
    return true;
  }

  #failed(error: unknown, log: Log | undefined): false {
    this.#lost++;
    // Once, or the log would grow by what the audit log lacks.
    if (!this.#isReported && log !== undefined) {
      log.error({ err: error }, "the audit log cannot be written");
      this.#isReported = true;
    }
    return false;
  }
}

function lineOf(fields: Fields): string {
  const text = JSON.stringify(fields);
  // Looking at each value while it is written would take three times as long.
  return `${printable(text.length > longestText ? JSON.stringify(shortened(fields)) : text)}\n`;
}

function shortened(fields: Fields): object {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" && value.length > longestText
      ? `${value.slice(0, longestText)}…`
      : value,
  ]);
  return Object.fromEntries(entries);
}
