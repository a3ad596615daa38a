/** How many items may wait here; a reader that stops reading stops the producer. */
export const itemWindow = 64;

/** The items of a stream between the wire and its reader. */
export class ItemQueue {
  readonly #values: unknown[] = [];
  #read = 0;
  #taken = 0;
  #give: ((count: number) => void) | undefined;
  #arrived: (() => void) | undefined;
  #room: (() => void) | undefined;
  #ended = false;

  /** How many items wait to be read. */
  get size(): number {
    return this.#values.length - this.#read;
  }

  /** Gives a promise when the queue is full, for wires that know no credit. */
  push(value: unknown, give: (count: number) => void): Promise<void> | undefined {
    if (this.#ended) return undefined;
    if (this.#give === undefined) {
      this.#give = give;
      give(itemWindow);
    }
    this.#values.push(value);
    this.#wake();
    if (this.size < itemWindow) return undefined;
    return new Promise((resolve) => {
      this.#room = resolve;
    });
  }

  /** The stream begins anew, over another wire that has to be told of credit. `tell` is called when the reader comes there. */
  restart(tell: () => void): void {
    this.#give = undefined;
    this.#taken = 0;
    // No item is a function. Where none waits here, the reader may still have the last one in hand.
    this.#values.push(tell);
    this.#wake();
  }

  /** Nothing more comes; what is here can still be read. */
  end(): void {
    this.#ended = true;
    this.#wake();
    this.#room?.();
  }

  get empty(): boolean {
    return this.size === 0;
  }

  get ended(): boolean {
    return this.#ended;
  }

  take(): unknown {
    const value = this.#values[this.#read];
    this.#values[this.#read++] = undefined;
    // A queue that is never quite empty must not grow by what was read.
    if (this.empty || this.#read >= 1024) {
      this.#values.splice(0, this.#read);
      this.#read = 0;
    }
    this.#room?.();
    this.#room = undefined;
    // Credit goes out in halves of the window, so that the producer never waits for a fast reader.
    if (++this.#taken >= itemWindow / 2 && !this.#ended) {
      this.#give?.(this.#taken);
      this.#taken = 0;
    }
    return value;
  }

  #wake(): void {
    this.#arrived?.();
    this.#arrived = undefined;
  }

  /** Where it is empty and has not ended: resolves when an item comes or the stream ends. */
  arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }
}
