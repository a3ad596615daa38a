/**
 * Random choices that are the same for the same seed. Every choice is recorded, so that an input can be made again,
 * changed or minimised by its choices, whatever its form. Zero is the simplest choice.
 */
export class Random {
  #state = 0;
  #choices = new Uint32Array(1024);
  #count = 0;
  #replayed: Uint32Array | undefined;
  /** Zeros that still follow the replayed choices. */
  #zeros = 0;

  constructor(seed: number) {
    this.restart(seed);
  }

  /** Begins an input. With `replayed`, its first choices are these, then `zeros` zeros. */
  restart(seed: number, replayed?: Uint32Array, zeros = 0): void {
    this.#state = Math.imul(seed ^ (seed >>> 16), 0x45d9f3b) >>> 0;
    this.#count = 0;
    this.#replayed = replayed;
    this.#zeros = zeros;
  }

  /** The choices since the last start. */
  get choices(): Uint32Array {
    return this.#choices.slice(0, this.#count);
  }

  /** An integer from 0 to below `limit`. */
  below(limit: number): number {
    const choice = this.#next() % limit;
    if (this.#count === this.#choices.length) {
      const longer = new Uint32Array(this.#count * 2);
      longer.set(this.#choices);
      this.#choices = longer;
    }
    this.#choices[this.#count++] = choice;
    return choice;
  }

  #next(): number {
    if (this.#replayed !== undefined) {
      if (this.#count < this.#replayed.length) return this.#replayed[this.#count] as number;
      // Has a limit, because a loop that ends by chance would not end.
      if (this.#count < this.#replayed.length + this.#zeros) return 0;
    }
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** True once in `times`. */
  oneIn(times: number): boolean {
    return this.below(times) === times - 1;
  }

  /** The first item is the simplest. */
  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /**
   * Up to `most` items. Each has its own choice to continue, so that minimising can leave any of
   * them out.
   */
  some<Item>(most: number, make: () => Item): Item[] {
    const items: Item[] = [];
    while (items.length < most && this.below(4) > 0) items.push(make());
    return items;
  }
}
