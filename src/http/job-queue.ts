/** A job calls `done` when it has released everything. */
type Job = (done: () => void) => void;

/** Lets jobs wait for each other that would take too much memory, or too many threads, all at once. */
export class JobQueue {
  readonly #mostAtOnce: number;
  readonly #waiting: Job[] = [];
  #running = 0;

  constructor(mostAtOnce: number) {
    this.#mostAtOnce = mostAtOnce;
  }

  /** How many jobs have not begun. */
  get waiting(): number {
    return this.#waiting.length;
  }

  run(job: Job): void {
    this.#waiting.push(job);
    this.#next();
  }

  #next(): void {
    if (this.#running >= this.#mostAtOnce) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    this.#running++;
    job(() => {
      this.#running--;
      this.#next();
    });
  }
}
