import type { Clock } from "../../protocol/clock.ts";
import type { CacheHints, Result } from "../results.ts";

const cachedMethods: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

/** Most cached results; the oldest is dropped first. */
const mostEntries = 256;

/** Caches results for as long as the server allows. */
export class ResultCache {
  readonly #clock: Clock;
  readonly #kept = new Map<string, { readonly result: object; readonly until: number }>();
  #changes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Counts invalidations, so that a result requested before one is not cached after it. */
  get changes(): number {
    return this.#changes;
  }

  get(method: string, params: object): object | undefined {
    if (!cachedMethods.has(method)) return undefined;
    const kept = this.#kept.get(keyOf(method, params));
    return kept !== undefined && kept.until > this.#clock.elapsed() ? kept.result : undefined;
  }

  /** `since` is the value of `changes` when the request was sent. */
  keep(method: string, params: object, result: object, since: number): void {
    const { ttlMs, resultType = "complete" } = result as CacheHints & Result;
    if (!cachedMethods.has(method) || resultType !== "complete") return;
    if (since !== this.#changes) return;
    if (typeof ttlMs !== "number" || !(ttlMs > 0)) return;
    const key = keyOf(method, params);
    this.#kept.delete(key);
    if (this.#kept.size >= mostEntries) {
      const [oldest] = this.#kept.keys();
      if (oldest !== undefined) this.#kept.delete(oldest);
    }
    this.#kept.set(key, { result, until: this.#clock.elapsed() + ttlMs });
  }

  /** Drops the results that a change notification makes stale. */
  invalidate(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === "notifications/tools/list_changed") this.#forget("tools/list");
    else if (method === "notifications/prompts/list_changed") this.#forget("prompts/list");
    else if (method === "notifications/resources/list_changed") this.#forget("resources/");
    else if (method === "notifications/resources/updated") {
      this.#changes++;
      this.#kept.delete(keyOf("resources/read", { uri: params.uri }));
    }
  }

  clear(): void {
    this.#changes++;
    this.#kept.clear();
  }

  #forget(prefix: string): void {
    this.#changes++;
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#kept.delete(key);
  }
}

function keyOf(method: string, params: object): string {
  return `${method} ${JSON.stringify(params)}`;
}
