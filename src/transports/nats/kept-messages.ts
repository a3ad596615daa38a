/** So much is kept. */
const mostKept = 1024 * 1024;

/** What is of use on the next connection too, until there is one. */
export class KeptMessages {
  readonly #sends: (() => void)[] = [];
  #length = 0;

  /** False where there is no room for it. */
  add(length: number, send: () => void): boolean {
    if (this.#length + length > mostKept) return false;
    this.#length += length;
    this.#sends.push(send);
    return true;
  }

  sendAll(): void {
    this.#length = 0;
    for (const send of this.#sends.splice(0)) send();
  }
}
