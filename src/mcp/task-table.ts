import type { Clock, Timer } from "../protocol/clock.ts";
import { serverBusy } from "../protocol/errors.ts";
import { limitOf } from "../protocol/limits.ts";
import { heapBytes } from "../protocol/memory-bounds.ts";
import { McpError } from "./errors.ts";
import type { TaskWork } from "./task-work.ts";

export interface TaskOptions {
  /** Most tasks kept at a time; stops memory exhaustion. One caller can run half of them. @default 1000 */
  readonly maxTasks?: number;
  /**
   * Most memory for the arguments and results of all tasks, in bytes as estimated from their JSON. Beyond it the caller
   * that takes most loses its oldest finished task, and if there is none, new tasks are refused. @default 64 MiB
   */
  readonly maxBytes?: number;
  /** How long a task is kept if its caller does not ask for a time. @default 600000 */
  readonly ttlMs?: number;
  /** The longest time that a caller may ask for. @default 3600000 */
  readonly maxTtlMs?: number;
}

interface Kept<T> {
  readonly task: T;
  readonly timer: Timer;
  readonly owner: unknown;
  /** Memory that its arguments take, or once it is over, its result. */
  bytes: number;
}

/** Tasks by id, bounded in number, memory and time. */
export class TaskTable<T extends { readonly work: TaskWork }> {
  readonly #kept = new Map<string, Kept<T>>();
  /** Tasks whose methods still run, including cancelled and dropped ones. */
  readonly #running = new Set<Kept<T>>();
  readonly #clock: Clock;
  readonly #limits: Required<TaskOptions>;
  #bytes = 0;

  constructor(clock: Clock, options: TaskOptions = {}) {
    const { maxTasks = 1_000, ttlMs = 600_000, maxTtlMs = 3_600_000 } = options;
    const { maxBytes = 64 * 1024 * 1024 } = options;
    this.#clock = clock;
    this.#limits = {
      maxTasks: limitOf("maxTasks", maxTasks),
      maxBytes: limitOf("maxBytes", maxBytes),
      ttlMs: limitOf("ttlMs", ttlMs),
      maxTtlMs: limitOf("maxTtlMs", maxTtlMs),
    };
  }

  /** Starts a task of an owner, dropping finished ones if there is no room; `make` gets how long it is kept. */
  begin(
    askedTtl: unknown,
    make: (ttlMs: number) => T,
    runTask: (task: T) => Promise<void>,
    owner?: unknown,
    args?: object,
  ): T {
    const { maxTasks, ttlMs, maxTtlMs } = this.#limits;
    const bytes = bytesOf(args);
    const mayBegin = this.#mayBegin(owner);
    if (mayBegin && this.#kept.size >= maxTasks) this.#makeRoom(owner);
    if (!mayBegin || this.#kept.size >= maxTasks || !this.#freeFor(bytes)) {
      throw new McpError(serverBusy.code, serverBusy.message, serverBusy.data, serverBusy);
    }
    const isTime = typeof askedTtl === "number" && askedTtl > 0;
    const task = make(isTime ? Math.min(askedTtl, maxTtlMs) : ttlMs);
    const timer = this.#clock.after(task.work.ttlMs, () => this.#drop(task));
    const kept = { task, timer, owner, bytes };
    this.#bytes += bytes;
    this.#kept.set(task.work.id, kept);
    this.#running.add(kept);
    void runTask(task).finally(() => this.#finished(kept));
    return task;
  }

  find(taskId: unknown): T | undefined {
    return typeof taskId === "string" ? this.#kept.get(taskId)?.task : undefined;
  }

  list(): T[] {
    return Array.from(this.#kept.values(), ({ task }) => task);
  }

  /** Cancels and drops all tasks. */
  end(): void {
    for (const task of this.list()) this.#drop(task);
  }

  #drop({ work }: T): void {
    const kept = this.#kept.get(work.id);
    kept?.timer.cancel();
    this.#kept.delete(work.id);
    // What a method that ignores the cancellation was called with stays until it ends.
    if (kept !== undefined && !this.#running.has(kept)) this.#bytes -= kept.bytes;
    work.cancel();
  }

  #finished(kept: Kept<T>): void {
    const { work } = kept.task;
    this.#running.delete(kept);
    this.#bytes -= kept.bytes;
    if (!this.#kept.has(work.id)) return;
    kept.bytes = bytesOf(work.result ?? work.error);
    this.#bytes += kept.bytes;
    this.#freeFor(0, kept);
  }

  /** Drops the oldest finished task of the owner whose tasks take most memory, until there is room; false if there is none. */
  #freeFor(bytes: number, spared?: Kept<T>): boolean {
    while (this.#bytes + bytes > this.#limits.maxBytes) {
      const sums = new Map<unknown, number>();
      for (const { owner, bytes } of this.#kept.values()) {
        sums.set(owner, (sums.get(owner) ?? 0) + bytes);
      }
      let most: Kept<T> | undefined;
      for (const each of this.#kept.values()) {
        if (each === spared || this.#running.has(each) || each.bytes === 0) continue;
        const sum = sums.get(each.owner) as number;
        if (most === undefined || sum > (sums.get(most.owner) as number)) most = each;
      }
      if (most === undefined) return false;
      this.#drop(most.task);
    }
    return true;
  }

  /** An owner may run no more tasks than there are free places, so that there is always room for others. */
  #mayBegin(owner: unknown): boolean {
    const leavesRoom = (those: readonly Kept<T>[], most: number): boolean => {
      const own = owner === undefined ? 0 : those.filter((each) => each.owner === owner).length;
      return those.length < most && own <= most - those.length;
    };
    const all = [...this.#running];
    const running = all.filter(({ task }) => !task.work.isOver);
    const { maxTasks } = this.#limits;
    // Methods that ignore the cancellation still run; as many of those are allowed again.
    return leavesRoom(running, maxTasks) && leavesRoom(all, 2 * maxTasks);
  }

  /** Drops the oldest finished task of the owner with the most tasks, never for an owner with more. */
  #makeRoom(owner: unknown): void {
    const counts = new Map<unknown, number>([[owner, 0]]);
    for (const each of this.#kept.values()) {
      counts.set(each.owner, (counts.get(each.owner) ?? 0) + 1);
    }
    const countOf = (each: Kept<T>): number => counts.get(each.owner) as number;
    let most: Kept<T> | undefined;
    for (const each of this.#kept.values()) {
      if (!each.task.work.isOver) continue;
      if (most === undefined || countOf(each) > countOf(most)) most = each;
    }
    if (most !== undefined && countOf(most) >= (counts.get(owner) as number)) this.#drop(most.task);
  }
}

function bytesOf(value: object | undefined): number {
  try {
    return value === undefined ? 0 : heapBytes(JSON.stringify(value));
  } catch {
    // A result that cannot be written is never sent either.
    return 0;
  }
}
