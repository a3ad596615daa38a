import { deferred } from "../contract/wire.ts";

/** A payment that takes until it is released. */
export class LongPayment {
  readonly #begun = deferred();
  readonly #end = deferred();
  /** How often it was made. */
  runs = 0;

  /** Resolves when it is made for the first time. */
  get begun(): Promise<void> {
    return this.#begun.promise;
  }

  readonly pay = async (): Promise<number> => {
    this.runs++;
    this.#begun.resolve();
    await this.#end.promise;
    return this.runs;
  };

  end(): void {
    this.#end.resolve();
  }
}
