import type { RpcErrorOptions } from "./errors.ts";
import type { ErrorObject } from "./message.ts";

/** The error that all entries of a batch failed with, so that HTTP can set the status as for one call. */
export class SharedRefusal {
  #error: (ErrorObject & RpcErrorOptions) | undefined = undefined;
  #count = 0;

  /** Adds the error of an entry; one without a status, or with another one than before, is not counted. */
  add(error: ErrorObject & RpcErrorOptions): void {
    const { status, code } = error;
    const before = this.#error ?? error;
    if (status === undefined || status !== before.status || code !== before.code) return;
    this.#error = error;
    this.#count++;
  }

  /** Undefined unless every entry failed with the same error. */
  of(entries: number): ErrorObject | undefined {
    return this.#count === entries ? this.#error : undefined;
  }
}
