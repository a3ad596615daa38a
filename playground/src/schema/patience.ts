/** How much of a schema is looked at: a short document can spell more alternatives than a page can try. */
export class Patience {
  #steps: number;

  constructor(steps: number) {
    this.#steps = steps;
  }

  /** Takes one step, or says that there were enough. */
  isOver(): boolean {
    return this.#steps-- <= 0;
  }
}
