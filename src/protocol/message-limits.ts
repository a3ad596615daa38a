import { limitOf } from "./limits.ts";

/** Methods that accept longer or shorter messages than their server does otherwise. */
export class MessageLimits {
  /** No message up to here is too long for its method. */
  readonly least: number;
  /** Some method accepts messages up to here. */
  readonly greatest: number;
  /** The limit of all other methods, and of batches. */
  readonly usual: number;
  readonly #own: ReadonlyMap<string, number>;

  constructor(usual: number, own: ReadonlyMap<string, number>) {
    for (const [name, max] of own) limitOf(`limits.maxMessageBytes of ${name}`, max);
    this.usual = usual;
    this.least = Math.min(usual, ...own.values());
    this.greatest = Math.max(usual, ...own.values());
    this.#own = own;
  }

  of(method: string): number {
    return this.#own.get(method) ?? this.usual;
  }
}
