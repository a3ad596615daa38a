import { itemWindow } from "../protocol/item-queue.ts";

/** How long the items of a stream are that came and were not read. */
export class UnreadItems {
  readonly #lengths: number[] = [];
  readonly #give: (count: number) => void;
  #total = 0;
  #credited = false;

  /** `give` tells the other end how many more may come. */
  constructor(give: (count: number) => void) {
    this.#give = give;
  }

  /** What their reader says: the first time before it has read anything, and then for as many as it has read. */
  readonly credit = (count: number): void => {
    if (this.#credited) for (const length of this.#lengths.splice(0, count)) this.#total -= length;
    this.#credited = true;
    this.#give(count);
  };

  /** False when more came than there was credit for, and more than so many characters. */
  add(length: number, most: number): boolean {
    // A reader that never speaks of credit may have read them all, and its queue has a limit of its own.
    if (!this.#credited && this.#lengths.length > 0) return true;
    this.#lengths.push(length);
    this.#total += length;
    return this.#lengths.length <= itemWindow || this.#total <= most;
  }
}
