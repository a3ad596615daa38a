import type { Clock } from "../../protocol/clock.ts";
import type { CacheHints, Result } from "../results.ts";

const cachedMethods: ReadonlySet<string> = new Set([
  "tools/list",
  "prompts/list",
  "resources/list",
  "resources/templates/list",
  "resources/read",
]);

/** Most cached results, and characters of their JSON; the oldest is dropped first. */
const mostEntries = 256;
const mostLength = 16 * 1024 * 1024;

interface Kept {
  readonly result: object;
  readonly length: number;
  readonly until: number;
}

/** Caches results for as long as the server allows. */
export class ResultCache {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  #length = 0;
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
    this.#drop(key);
    const length = key.length + jsonLength(result);
    if (length > mostLength) return;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < mostEntries && this.#length + length <= mostLength) break;
      this.#drop(oldest);
    }
    this.#kept.set(key, { result, length, until: this.#clock.elapsed() + ttlMs });
    this.#length += length;
  }

  /** Drops the results that a change notification makes stale. */
  invalidate(method: string, params: Readonly<Record<string, unknown>>): void {
    if (method === "notifications/tools/list_changed") this.#forget("tools/list");
    else if (method === "notifications/prompts/list_changed") this.#forget("prompts/list");
    else if (method === "notifications/resources/list_changed") this.#forget("resources/");
    else if (method === "notifications/resources/updated") {
      this.#changes++;
      this.#drop(keyOf("resources/read", { uri: params.uri }));
    }
  }

  clear(): void {
    this.#changes++;
    this.#kept.clear();
    this.#length = 0;
  }

  #drop(key: string): void {
    this.#length -= this.#kept.get(key)?.length ?? 0;
    this.#kept.delete(key);
  }

  #forget(prefix: string): void {
    this.#changes++;
    for (const key of this.#kept.keys()) if (key.startsWith(prefix)) this.#drop(key);
  }
}

function keyOf(method: string, params: object): string {
  return `${method} ${JSON.stringify(params)}`;
}

/** The length of a value of a server as JSON; infinite if it is too deep to be written. */
export function jsonLength(value: unknown): number {
  try {
    return JSON.stringify(value).length;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
