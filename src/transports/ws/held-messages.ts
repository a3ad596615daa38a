/** Messages that have arrived and wait until they may be handled. */
export class HeldMessages {
  /** A chunk holds many times its length in compressed messages. */
  bytes = 0;
  readonly #messages: (string | Uint8Array)[] = [];

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  add(message: string | Uint8Array): void {
    this.#messages.push(message);
    this.bytes += message.length;
  }

  /** The first one; there must be one. */
  take(): string | Uint8Array {
    const message = this.#messages.shift() as string | Uint8Array;
    this.bytes -= message.length;
    return message;
  }

  clear(): void {
    this.#messages.length = 0;
    this.bytes = 0;
  }
}
