import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import { type Linked, LinkedList } from "../protocol/linked-list.ts";
import { workRefused } from "./refusal.ts";
import {
  pageOf,
  type WorkPage,
  type WorkQuery,
  type WorkRecord,
  type WorkStore,
} from "./work-store.ts";

export interface MemoryWorkStoreOptions {
  /**
   * Most records kept at a time; stops memory exhaustion. Records that are over make room for new ones, first those of
   * the owner that has most. @default 10000
   */
  readonly maxRecords?: number;
  /** Most memory for all records, in bytes as estimated from their JSON. @default 64 MiB */
  readonly maxBytes?: number;
  /** How long a record is kept after its last change. @default 3600000 */
  readonly ttlMs?: number;
  /** For tests. @default systemClock */
  readonly clock?: Clock;
}

interface Entry extends Linked<Entry> {
  record: WorkRecord;
  /** When it is dropped, by the clock's `elapsed`. */
  expiresAt: number;
  readonly share: Share;
}

/** What one owner has in the store. */
interface Share {
  readonly owner: string;
  count: number;
  bytes: number;
  /** The records that are over, oldest first. */
  readonly over: LinkedList<Entry>;
}

/** Expired records are removed at most this often; until then they take memory, but are not found. */
const sweepMs = 1_000;

/**
 * Stores work in this process, bounded in number, memory and time. It is lost when the process ends.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { MemoryWorkStore } from "callwire/work";
 *
 * const agent = a2aAgent({
 *   card: { name: "Echo", description: "Repeats what it is told" },
 *   store: new MemoryWorkStore({ maxRecords: 100 }),
 *   async *execute(message) {
 *     yield message.text;
 *   },
 * });
 * ```
 */
export class MemoryWorkStore implements WorkStore {
  readonly #entries = new Map<string, Entry>();
  readonly #shares = new Map<string, Share>();
  readonly #clock: Clock;
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  readonly #ttlMs: number;
  #bytes = 0;
  #sweep: { readonly timer: Timer; readonly at: number } | undefined;

  constructor(options: MemoryWorkStoreOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#maxRecords = limitOf("maxRecords", options.maxRecords, 10_000);
    this.#maxBytes = limitOf("maxBytes", options.maxBytes, 64 * 1024 * 1024);
    this.#ttlMs = limitOf("ttlMs", options.ttlMs, 3_600_000);
  }

  load(id: string): WorkRecord | undefined {
    const entry = this.#entries.get(id);
    return entry !== undefined && this.#isKept(entry) ? entry.record : undefined;
  }

  save(record: WorkRecord): boolean {
    const { id, version, owner, bytes, phase, ttlMs = this.#ttlMs } = record;
    const before = this.#entries.get(id);
    if (version !== (before === undefined ? 1 : before.record.version + 1)) return false;
    this.#makeRoom(record, before?.record);
    const expiresAt = this.#clock.elapsed() + ttlMs;
    // The version before may have been removed to make room, if its work is over.
    let entry = this.#entries.get(id);
    if (entry === undefined) {
      const share = this.#shareOf(owner);
      entry = { record, expiresAt, share, prev: undefined, next: undefined };
      this.#entries.set(id, entry);
      share.count++;
      this.#countBytes(share, bytes);
    } else {
      this.#countBytes(entry.share, bytes - entry.record.bytes);
      entry.share.over.remove(entry);
      entry.record = record;
      entry.expiresAt = expiresAt;
    }
    if (phase === "over") entry.share.over.add(entry);
    this.#sweepAt(expiresAt);
    return true;
  }

  list(query: WorkQuery): WorkPage {
    const kept: WorkRecord[] = [];
    for (const entry of this.#entries.values()) if (this.#isKept(entry)) kept.push(entry.record);
    return pageOf(kept, query);
  }

  remove(id: string): void {
    const entry = this.#entries.get(id);
    if (entry === undefined) return;
    const { share, record } = entry;
    this.#entries.delete(id);
    share.over.remove(entry);
    this.#countBytes(share, -record.bytes);
    if (--share.count === 0) this.#shares.delete(share.owner);
  }

  #isKept({ expiresAt }: Entry): boolean {
    return expiresAt > this.#clock.elapsed();
  }

  #shareOf(owner: string): Share {
    let share = this.#shares.get(owner);
    if (share === undefined) {
      share = { owner, count: 0, bytes: 0, over: new LinkedList() };
      this.#shares.set(owner, share);
    }
    return share;
  }

  #countBytes(share: Share, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
  }

  /** Removes records that are over until there is room for this one; throws if there are too few. */
  #makeRoom(record: WorkRecord, before: WorkRecord | undefined): void {
    const { owner } = record;
    const growth = record.bytes - (before?.bytes ?? 0);
    while (before === undefined && this.#entries.size >= this.#maxRecords) {
      const most = this.#greatestShare(({ count }) => count);
      // An owner that has more must not take the place of others.
      if (most === undefined || most.count < (this.#shares.get(owner)?.count ?? 0))
        throw workRefused();
      this.remove(most.over.first?.record.id as string);
    }
    while (growth > 0 && this.#bytes + growth > this.#maxBytes) {
      const most = this.#greatestShare(({ bytes }) => bytes);
      // The last change of work must not be refused, or the work would never end.
      if (most === undefined && record.phase === "over") return;
      if (most === undefined) throw workRefused();
      this.remove(most.over.first?.record.id as string);
    }
  }

  /** The share that has most, among those with records that are over. */
  #greatestShare(sizeOf: (share: Share) => number): Share | undefined {
    let most: Share | undefined;
    for (const share of this.#shares.values()) {
      if (share.over.size > 0 && (most === undefined || sizeOf(share) > sizeOf(most))) most = share;
    }
    return most;
  }

  /** One timer for all records, for the one that expires first. */
  #sweepAt(expiresAt: number): void {
    if (this.#sweep !== undefined && this.#sweep.at <= expiresAt) return;
    this.#sweep?.timer.cancel();
    const delay = Math.max(sweepMs, expiresAt - this.#clock.elapsed());
    const timer = this.#clock.after(delay, () => {
      this.#sweep = undefined;
      let next = Number.POSITIVE_INFINITY;
      for (const [id, entry] of this.#entries) {
        if (this.#isKept(entry)) next = Math.min(next, entry.expiresAt);
        else this.remove(id);
      }
      if (next !== Number.POSITIVE_INFINITY) this.#sweepAt(next);
    });
    this.#sweep = { timer, at: expiresAt };
  }
}
