import type { Log } from "../protocol/log.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";

/** Nobody needs more of a name that somebody made up. */
const longestText = 256;

/** Lines on their way to a sink, which may fail. */
export class AuditTrail {
  readonly #sink: (line: string) => unknown;
  readonly #maxPending: number;
  #pending = 0;
  #failing = false;

  constructor(sink: (line: string) => unknown, maxPending: number) {
    this.#sink = sink;
    this.#maxPending = maxPending;
  }

  /** Writes a line, and goes on if that fails. */
  write(fields: object, log?: Log): void {
    void this.writeSurely(fields, log);
  }

  /** Whether the line was written. */
  writeSurely(fields: object, log?: Log): MaybePromise<boolean> {
    if (this.#pending >= this.#maxPending) return this.#failed(new Error("it is too slow"), log);
    try {
      const written = this.#sink(lineOf(fields));
      if (!isThenable(written)) return this.#done();
      this.#pending++;
      return written.then(
        () => {
          this.#pending--;
          return this.#done();
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

  #done(): true {
    this.#failing = false;
    return true;
  }

  #failed(error: unknown, log: Log | undefined): false {
    // Once, or the log would grow by what the audit log lacks.
    if (!this.#failing) log?.error({ err: error }, "the audit log cannot be written");
    this.#failing = true;
    return false;
  }
}

/** JSON leaves some characters as they are that terminals and editors take for the end of a line. */
const unsafe = /[\u007f-\u009f\u2028\u2029]/g;

function lineOf(fields: object): string {
  const text = JSON.stringify(fields, (_, value: unknown) =>
    typeof value === "string" && value.length > longestText
      ? `${value.slice(0, longestText)}…`
      : value,
  );
  return `${text.replace(unsafe, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
}
