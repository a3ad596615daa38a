/** Limits how much of a schema is examined: a short document can describe more alternatives than a page can try. */
export class Patience {
  #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Counts one step; true if there were too many. */
  isOver(): boolean {
    return this.#steps-- <= 0;
  }
}
