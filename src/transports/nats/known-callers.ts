/** Most callers that are remembered. */
const mostKnown = 10_000;
/** Most callers that are asked at the same time. */
const mostAsked = 1_000;

/** Callers that have not shown that they exist have one share of the server's limits together: anyone can make up inboxes. */
export const strangers = "strangers";

/** Callers that have received something from here, which only one that exists can. */
export class KnownCallers {
  readonly #names = new Set<string>();
  /** Callers that were asked for a sign, by the token of the answer. */
  readonly #asked = new Map<string, string>();

  has(name: string): boolean {
    if (!this.#names.delete(name)) return false;
    // One that calls again is forgotten last.
    this.#names.add(name);
    return true;
  }

  add(name: string): void {
    this.#names.add(name);
    const [oldest] = this.#names;
    if (this.#names.size > mostKnown && oldest !== undefined) this.#names.delete(oldest);
  }

  asked(name: string, token: string): void {
    this.#asked.set(token, name);
    const [oldest] = this.#asked.keys();
    if (this.#asked.size > mostAsked && oldest !== undefined) this.#asked.delete(oldest);
  }

  /** Something came with this token, or NATS reported that nobody is there. */
  answered(token: string, exists: boolean): void {
    const name = this.#asked.get(token);
    this.#asked.delete(token);
    if (name !== undefined && exists) this.add(name);
  }
}
