/** How many jobs run at a time: as many as Node has threads for them. */
const mostAtOnce = 4;

/** A job calls `done` when it holds nothing any more. */
type Job = (done: () => void) => void;

/**
 * Lets jobs of zlib wait for each other. Each holds a window and tables of up to some megabytes from its start to its
 * end, so that a thousand at once would fill the memory, and they would not end sooner.
 */
export class ZlibQueue {
  readonly #waiting: Job[] = [];
  #running = 0;

  run(job: Job): void {
    this.#waiting.push(job);
    this.#next();
  }

  #next(): void {
    if (this.#running >= mostAtOnce) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    this.#running++;
    job(() => {
      this.#running--;
      this.#next();
    });
  }
}
