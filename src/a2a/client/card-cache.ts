import { type Clock, systemClock } from "../../protocol/clock.ts";
import { limitOf } from "../../protocol/limits.ts";

export interface CardCacheOptions {
  /** Most cards kept at a time; the oldest makes room. Stops memory exhaustion. @default 100 */
  readonly maxCards?: number;
  /** For tests. @default systemClock */
  readonly clock?: Clock;
}

interface KeptCard {
  readonly text: string;
  /** To ask the agent whether the card has changed. */
  readonly etag: string | null;
  /** Until then it is used without asking, by the clock's `elapsed`. */
  readonly freshUntil: number;
}

/** Reads a card; with the tag of the one that is kept, the agent can answer that it has not changed (304). */
export type ReadCard = (etag: string | undefined) => Promise<Response>;

/**
 * Keeps the cards of agents for as long as they allow (`Cache-Control`), and then asks whether they have changed.
 * Clients with different headers do not share a card, because an agent may show each of them another one.
 * @example
 * ```ts
 * import { a2aClient, CardCache } from "callwire/a2a";
 *
 * const cards = new CardCache();
 * const ask = async (question: string) =>
 *   (await a2aClient("https://agents.example.com", { cards })).send(question);
 * ```
 */
export class CardCache {
  readonly #cards = new Map<string, KeptCard>();
  readonly #maxCards: number;
  readonly #clock: Clock;

  constructor(options: CardCacheOptions = {}) {
    this.#maxCards = limitOf("maxCards", options.maxCards, 100);
    this.#clock = options.clock ?? systemClock;
  }

  /** The text of a card: the one that is kept, or else what `read` gets and `textOf` makes of it. */
  async text(
    key: string,
    read: ReadCard,
    textOf: (response: Response) => Promise<string>,
  ): Promise<string> {
    const kept = this.#cards.get(key);
    if (kept !== undefined && kept.freshUntil > this.#clock.elapsed()) return kept.text;
    const response = await read(kept?.etag ?? undefined);
    const isSame = kept !== undefined && response.status === 304;
    const text = isSame ? kept.text : await textOf(response);
    this.#keep(key, text, response.headers);
    return text;
  }

  #keep(key: string, text: string, headers: Headers): void {
    this.#cards.delete(key);
    const rules = headers.get("cache-control")?.toLowerCase() ?? "";
    if (/\bno-store\b/.test(rules)) return;
    const seconds = /\bno-cache\b/.test(rules)
      ? 0
      : Number(/\bmax-age=(\d+)/.exec(rules)?.[1] ?? 0);
    const freshUntil = this.#clock.elapsed() + seconds * 1_000;
    const [oldest] = this.#cards.keys();
    if (this.#cards.size >= this.#maxCards && oldest !== undefined) this.#cards.delete(oldest);
    this.#cards.set(key, { text, etag: headers.get("etag"), freshUntil });
  }
}
