/** How long a server may be silent. While a person is asked something, no time passes. */
export class Patience {
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #asking = 0;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.restart();
  }

  /** Aborts when it is over. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The server was heard, or is spoken to. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#asking > 0) return;
    this.#timer = setTimeout(() => this.#controller.abort(), this.#limitMs).unref();
  }

  async during<T>(ask: () => Promise<T>): Promise<T> {
    this.#asking++;
    clearTimeout(this.#timer);
    try {
      return await ask();
    } finally {
      this.#asking--;
      this.restart();
    }
  }
}
