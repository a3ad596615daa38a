/** Most callers that are remembered. */
const mostKnown = 10_000;
/** Most callers that are asked at the same time. */
const mostAsked = 1_000;

/** All callers that have not proved that they exist share one part of the server's limits, because anyone can invent inboxes. */
export const strangers = "strangers";

/** Callers that have proved that they exist, by reacting to a message from here. */
export class KnownCallers {
  readonly #names = new Set<string>();
  /** Callers whose proof is awaited, by the token of the answer. */
  readonly #asked = new Map<string, string>();

  has(name: string): boolean {
    if (!this.#names.delete(name)) return false;
    // The caller that called last is forgotten last.
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

  /** A message came with this token, or NATS reported that there is no subscriber. */
  answered(token: string, exists: boolean): void {
    const name = this.#asked.get(token);
    this.#asked.delete(token);
    if (name !== undefined && exists) this.add(name);
  }
}
