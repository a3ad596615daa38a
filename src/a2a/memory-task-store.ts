import { type Clock, systemClock, type Timer } from "../protocol/clock.ts";
import { limitOf } from "../protocol/limits.ts";
import { agentBusy } from "./errors.ts";
import { isTerminal } from "./model.ts";
import {
  comesBefore,
  type TaskPage,
  type TaskQuery,
  type TaskRecord,
  type TaskStore,
} from "./task-store.ts";

export interface MemoryTaskStoreOptions {
  /** Most tasks kept at a time; stops memory exhaustion. Finished tasks make room for new ones, oldest first. @default 10000 */
  readonly maxTasks?: number;
  /** Most characters of all tasks, as JSON; stops memory exhaustion. @default 33554432 */
  readonly maxCharacters?: number;
  /** How long a task is kept after its last change. @default 3600000 */
  readonly ttlMs?: number;
  /** For tests. @default systemClock */
  readonly clock?: Clock;
}

interface Entry {
  readonly record: TaskRecord;
  /** When it is dropped, by the clock's `elapsed`. */
  readonly expiresAt: number;
}

/**
 * Keeps tasks in this process, bounded in number, size and time. They are lost when it ends.
 * @example
 * ```ts
 * import { a2aAgent, MemoryTaskStore } from "callwire/a2a";
 *
 * const agent = a2aAgent({
 *   card: { name: "Echo", description: "Repeats what it is told" },
 *   store: new MemoryTaskStore({ maxTasks: 100 }),
 *   async *execute(message) {
 *     yield message.text;
 *   },
 * });
 * ```
 */
export class MemoryTaskStore implements TaskStore {
  /** In the order of their last change, oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #clock: Clock;
  readonly #maxTasks: number;
  readonly #maxCharacters: number;
  readonly #ttlMs: number;
  #characters = 0;
  #expiry: Timer | undefined;

  constructor(options: MemoryTaskStoreOptions = {}) {
    this.#clock = options.clock ?? systemClock;
    this.#maxTasks = limitOf("maxTasks", options.maxTasks, 10_000);
    this.#maxCharacters = limitOf("maxCharacters", options.maxCharacters, 32 * 1024 * 1024);
    this.#ttlMs = limitOf("ttlMs", options.ttlMs, 3_600_000);
  }

  load(id: string): TaskRecord | undefined {
    return this.#entries.get(id)?.record;
  }

  save(record: TaskRecord): boolean {
    const { id } = record.task;
    const before = this.#entries.get(id);
    if (record.version !== (before?.record.version ?? 0) + 1) return false;
    const { characters } = record;
    this.#makeRoom(id, characters - (before?.record.characters ?? 0), before === undefined);
    if (before !== undefined) this.#remove(id, before);
    this.#entries.set(id, { record, expiresAt: this.#clock.elapsed() + this.#ttlMs });
    this.#characters += characters;
    this.#expiry ??= this.#expireLater(this.#ttlMs);
    return true;
  }

  list({ owner, contextId, state, changedSince, after, limit }: TaskQuery): TaskPage {
    const found: TaskRecord[] = [];
    for (const { record } of this.#entries.values()) {
      const { task, changedAt } = record;
      if (record.owner !== owner) continue;
      if (contextId !== undefined && task.contextId !== contextId) continue;
      if (state !== undefined && task.status.state !== state) continue;
      if (changedSince !== undefined && changedAt < changedSince) continue;
      found.push(record);
    }
    const place = ({ task, changedAt }: TaskRecord) => ({ changedAt, id: task.id });
    found.sort((a, b) => (comesBefore(place(a), place(b)) ? -1 : 1));
    const rest =
      after === undefined ? found : found.filter((each) => comesBefore(after, place(each)));
    return { records: rest.slice(0, limit), total: found.length };
  }

  /** Removes finished tasks, oldest first, until there is room for a task of this size. */
  #makeRoom(id: string, characters: number, isNew: boolean): void {
    const isFull = (): boolean =>
      (isNew && this.#entries.size >= this.#maxTasks) ||
      this.#characters + characters > this.#maxCharacters;
    if (!isFull()) return;
    for (const [other, entry] of this.#entries) {
      if (other === id || !isTerminal(entry.record.task.status.state)) continue;
      this.#remove(other, entry);
      if (!isFull()) return;
    }
    throw agentBusy();
  }

  #remove(id: string, { record }: Entry): void {
    this.#entries.delete(id);
    this.#characters -= record.characters;
  }

  /** One timer for all: the entries are in the order in which they expire. */
  #expireLater(delayMs: number): Timer {
    return this.#clock.after(delayMs, () => {
      const now = this.#clock.elapsed();
      this.#expiry = undefined;
      for (const [id, entry] of this.#entries) {
        if (entry.expiresAt > now) {
          this.#expiry = this.#expireLater(entry.expiresAt - now);
          return;
        }
        this.#remove(id, entry);
      }
    });
  }
}
