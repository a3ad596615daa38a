import type { Clock, Timer } from "../protocol/clock.ts";
import { serverBusy } from "../protocol/errors.ts";
import { limitOf } from "../protocol/limits.ts";
import { McpError } from "./errors.ts";
import type { TaskWork } from "./task-work.ts";

export interface TaskOptions {
  /** Most tasks that are kept at the same time; stops memory exhaustion. One caller may have half of them run. @default 1000 */
  readonly maxTasks?: number;
  /** How long a task is kept where its caller does not say. @default 600000 */
  readonly ttlMs?: number;
  /** The longest that a caller may have it kept. @default 3600000 */
  readonly maxTtlMs?: number;
}

interface Kept<T> {
  readonly task: T;
  readonly timer: Timer;
  readonly owner: unknown;
}

/** Tasks by their id, bounded in number and time. */
export class TaskTable<T extends { readonly work: TaskWork }> {
  readonly #kept = new Map<string, Kept<T>>();
  /** Those whose methods have not ended, also where they were cancelled or forgotten before. */
  readonly #atWork = new Set<Kept<T>>();
  readonly #clock: Clock;
  readonly #limits: Required<TaskOptions>;

  constructor(clock: Clock, options: TaskOptions = {}) {
    const { maxTasks = 1_000, ttlMs = 600_000, maxTtlMs = 3_600_000 } = options;
    this.#clock = clock;
    this.#limits = {
      maxTasks: limitOf("maxTasks", maxTasks),
      ttlMs: limitOf("ttlMs", ttlMs),
      maxTtlMs: limitOf("maxTtlMs", maxTtlMs),
    };
  }

  /** Makes room for one more of an owner, where there are several, and begins it; `make` is told how long it will be kept. */
  begin(
    askedTtl: unknown,
    make: (ttlMs: number) => T,
    runTask: (task: T) => Promise<void>,
    owner?: unknown,
  ): T {
    const { maxTasks, ttlMs, maxTtlMs } = this.#limits;
    const mayBegin = this.#mayBegin(owner);
    if (mayBegin && this.#kept.size >= maxTasks) this.#makeRoom(owner);
    if (!mayBegin || this.#kept.size >= maxTasks) {
      throw new McpError(serverBusy.code, serverBusy.message, undefined, serverBusy);
    }
    const isTime = typeof askedTtl === "number" && askedTtl > 0;
    const task = make(isTime ? Math.min(askedTtl, maxTtlMs) : ttlMs);
    const timer = this.#clock.after(task.work.ttlMs, () => this.#forget(task));
    const kept = { task, timer, owner };
    this.#kept.set(task.work.id, kept);
    this.#atWork.add(kept);
    void runTask(task).finally(() => this.#atWork.delete(kept));
    return task;
  }

  find(taskId: unknown): T | undefined {
    return typeof taskId === "string" ? this.#kept.get(taskId)?.task : undefined;
  }

  list(): T[] {
    return Array.from(this.#kept.values(), ({ task }) => task);
  }

  /** Ends all that runs. */
  end(): void {
    for (const task of this.list()) this.#forget(task);
  }

  #forget({ work }: T): void {
    this.#kept.get(work.id)?.timer.cancel();
    this.#kept.delete(work.id);
    work.cancel();
  }

  /** Nobody has more at work than could still begin, so that there is room for others, however many one begins. */
  #mayBegin(owner: unknown): boolean {
    const leavesRoom = (those: readonly Kept<T>[], most: number): boolean => {
      const own = owner === undefined ? 0 : those.filter((each) => each.owner === owner).length;
      return those.length < most && own <= most - those.length;
    };
    const all = [...this.#atWork];
    const running = all.filter(({ task }) => !task.work.isOver);
    const { maxTasks } = this.#limits;
    // As many may go on after they were cancelled or forgotten, because their methods do not heed it.
    return leavesRoom(running, maxTasks) && leavesRoom(all, 2 * maxTasks);
  }

  /** The oldest that is over goes, of whoever has the most: nobody loses a result to one who has more. */
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
    if (most !== undefined && countOf(most) >= (counts.get(owner) as number))
      this.#forget(most.task);
  }
}
