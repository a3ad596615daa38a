/** Aborts if a server is silent too long; paused while the user is asked. */
export class IdleTimeout {
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #asking = 0;

  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** To be called for each message. */
  restart(): void {
    clearTimeout(this.#timer);
    if (this.#asking > 0) return;
    this.#timer = setTimeout(() => this.#controller.abort(), this.#limitMs).unref();
  }

  async pausedDuring<T>(ask: () => Promise<T>): Promise<T> {
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
