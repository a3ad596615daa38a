import { isEnvelope } from "../../protocol/parse.ts";

/**
 * The last words of a mailbox's subjects: of the calls that it made (`o`), of those of others that run here (`c`), and
 * of its questions (`p`).
 */
export class Tokens {
  readonly #isPublic: boolean;
  #last = 0;

  constructor(isPublic: boolean) {
    this.#isPublic = isPublic;
  }

  /** Where everybody knows the address, only whom it is told may find the next word: else one could stop or answer the calls of others. */
  next(kind: "o" | "c" | "p"): string {
    const token = `${kind}${(++this.#last).toString(36)}`;
    return this.#isPublic ? `${token}-${crypto.randomUUID()}` : token;
  }
}

/** The calls that a message of another end names. Anything else among them is left out: thrown where a message is heard, it would stop the connection for good. */
export function namedIn(params: unknown): readonly string[] {
  const { held } = (isEnvelope(params) ? params : {}) as { held?: unknown };
  return Array.isArray(held) ? held.filter((token) => typeof token === "string") : [];
}
