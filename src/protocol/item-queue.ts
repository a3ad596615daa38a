/** Most items that wait to be read; a reader that stops reading stops the producer. */
export const itemWindow = 64;

/** Items of a stream between the wire and their reader. */
export class ItemQueue {
  readonly #values: unknown[] = [];
  #read = 0;
  #taken = 0;
  #give: ((count: number) => void) | undefined;
  #arrived: (() => void) | undefined;
  #room: (() => void) | undefined;
  #ended = false;

  /** Number of unread items. */
  get size(): number {
    return this.#values.length - this.#read;
  }

  /** Returns a promise if the queue is full, for wires without credit. */
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

  /** The stream restarts over another connection, which needs new credit. `report` runs when the reader gets there. */
  restart(report: () => void): void {
    this.#give = undefined;
    this.#taken = 0;
    // No item is a function. If none waits, the reader may still be handling the last one.
    this.#values.push(report);
    this.#wake();
  }

  /** No more items will arrive; queued ones can still be read. */
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
    // A queue that never empties must not keep the items that were read.
    if (this.empty || this.#read >= 1024) {
      this.#values.splice(0, this.#read);
      this.#read = 0;
    }
    this.#room?.();
    this.#room = undefined;
    // Credit is sent per half window, so that the producer never waits for a fast reader.
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

  /** Resolves when an item arrives or the stream ends; call it only while the queue is empty and open. */
  arrival(): Promise<void> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }
}
