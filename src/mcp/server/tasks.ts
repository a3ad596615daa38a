import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import { internalError, RemoteError, RpcError, serverBusy } from "../../protocol/errors.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import { invalidArguments, McpError } from "../errors.ts";
import type { Caller } from "./caller.ts";
import type { Changes } from "./changes.ts";
import { TaskRun } from "./task-run.ts";

export interface TaskOptions {
  /** Most tasks that are kept at the same time; stops memory exhaustion. @default 1000 */
  readonly maxTasks?: number;
  /** How long a task is kept where its caller does not say. @default 600000 */
  readonly ttlMs?: number;
  /** The longest that a caller may have it kept. @default 3600000 */
  readonly maxTtlMs?: number;
}

/** The tasks of a server, of both eras. */
export class Tasks {
  readonly #tasks = new Map<string, TaskRun>();
  readonly #clock: Clock;
  readonly #changes: Changes;
  readonly #limits: Required<TaskOptions>;

  constructor(clock: Clock, changes: Changes, options: TaskOptions = {}) {
    const { maxTasks = 1_000, ttlMs = 600_000, maxTtlMs = 3_600_000 } = options;
    this.#clock = clock;
    this.#changes = changes;
    this.#limits = { maxTasks, ttlMs, maxTtlMs };
  }

  /** Begins a task that a caller may ask about from now on. */
  start(
    work: (task: TaskRun) => MaybePromise<object>,
    context: CallContext,
    caller: Caller,
    askedTtl: unknown,
  ): TaskRun {
    if (this.#tasks.size >= this.#limits.maxTasks) this.#dropOldestOver();
    if (this.#tasks.size >= this.#limits.maxTasks) {
      throw new McpError(serverBusy.code, serverBusy.message, undefined, serverBusy);
    }
    const { ttlMs, maxTtlMs } = this.#limits;
    const ttl = typeof askedTtl === "number" && askedTtl > 0 ? Math.min(askedTtl, maxTtlMs) : ttlMs;
    const owner = { principal: context.principal?.id, session: caller.session?.id };
    const task = new TaskRun(
      owner,
      ttl,
      caller.capabilities,
      () => this.#clock.now(),
      (changed) => this.#tell(changed, caller),
    );
    this.#tasks.set(task.id, task);
    this.#clock.after(ttl, () => this.#forget(task));
    void this.#run(task, work, context);
    return task;
  }

  /** Throws for one that is not there, or belongs to somebody else. */
  find(taskId: unknown, context: CallContext, caller: Caller): TaskRun {
    const task = typeof taskId === "string" ? this.#tasks.get(taskId) : undefined;
    if (task === undefined || !belongs(task, context, caller)) {
      throw invalidArguments("there is no such task");
    }
    return task;
  }

  list(context: CallContext, caller: Caller): TaskRun[] {
    return [...this.#tasks.values()].filter((task) => belongs(task, context, caller));
  }

  /** Ends all that runs. */
  end(): void {
    for (const task of this.#tasks.values()) this.#forget(task);
  }

  async #run(
    task: TaskRun,
    work: (task: TaskRun) => MaybePromise<object>,
    context: CallContext,
  ): Promise<void> {
    try {
      task.complete(await work(task));
    } catch (error) {
      const isOwn = error instanceof RpcError && !(error instanceof RemoteError);
      if (!isOwn && !task.isOver) {
        context.log.error({ err: error, task: task.id }, "a task failed");
      }
      task.fail(isOwn ? error : internalError);
    }
  }

  #tell(task: TaskRun, caller: Caller): void {
    this.#changes.taskChanged(task.id, task.whole);
    caller.session?.peer?.notify("notifications/tasks/status", { ...task.shownLegacy });
  }

  #forget(task: TaskRun): void {
    this.#tasks.delete(task.id);
    task.cancel();
  }

  #dropOldestOver(): void {
    for (const task of this.#tasks.values()) {
      if (!task.isOver) continue;
      this.#tasks.delete(task.id);
      return;
    }
  }
}

/** Without a principal the id is the secret, and a session keeps its tasks to itself. */
function belongs({ owner }: TaskRun, context: CallContext, caller: Caller): boolean {
  if (owner.principal !== context.principal?.id) return false;
  return owner.principal !== undefined || owner.session === caller.session?.id;
}
