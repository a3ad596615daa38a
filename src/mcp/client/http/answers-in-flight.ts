/** Most answers on their way to the server. */
const most = 64;

/** Bounds the answers to the server's requests: it could send any number of requests and read no answer. */
export class AnswersInFlight {
  #count = 0;
  readonly #waiting: (() => void)[] = [];

  async send(post: () => Promise<void>): Promise<void> {
    this.#count++;
    try {
      await post();
    } finally {
      this.#count--;
      for (const resume of this.#waiting.splice(0)) resume();
    }
  }

  /** Resolves when the next request of the server may be read; undefined if it may be now. */
  room(): Promise<void> | undefined {
    if (this.#count < most) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
