import type { RpcErrorOptions } from "./errors.ts";
import type { ErrorObject } from "./message.ts";

/** The error that all entries of a batch came to, so that HTTP can say it as it does for one call. */
export class SharedRefusal {
  #error: (ErrorObject & RpcErrorOptions) | undefined = undefined;
  #count = 0;

  /** Takes the error of an entry. One that asks for no status, or another than before, is not counted. */
  add(error: ErrorObject & RpcErrorOptions): void {
    const { status, code } = error;
    const before = this.#error ?? error;
    if (status === undefined || status !== before.status || code !== before.code) return;
    this.#error = error;
    this.#count++;
  }

  /** Undefined unless so many entries, which are all there are, were refused alike. */
  of(entries: number): ErrorObject | undefined {
    return this.#count === entries ? this.#error : undefined;
  }
}
