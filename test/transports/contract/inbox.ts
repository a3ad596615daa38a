/** Messages that arrived, read one at a time. */
export class Inbox {
  readonly #texts: string[] = [];
  readonly #waiting: ((text: string | undefined) => void)[] = [];
  #ended = false;

  get ended(): boolean {
    return this.#ended;
  }

  push(text: string): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#texts.push(text);
    else next(text);
  }

  end(): void {
    this.#ended = true;
    for (const next of this.#waiting.splice(0)) next(undefined);
  }

  /** The next message, or undefined when the wire has ended. */
  next(): Promise<string | undefined> {
    const text = this.#texts.shift();
    if (text !== undefined || this.#ended) return Promise.resolve(text);
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The next message, parsed; fails when the wire has ended. */
  async message(): Promise<Record<string, unknown>> {
    const text = await this.next();
    if (text === undefined) throw new Error("the wire ended before the message came");
    return JSON.parse(text) as Record<string, unknown>;
  }

  /** Reads until the wire ends. */
  async drained(): Promise<void> {
    while ((await this.next()) !== undefined);
  }
}
