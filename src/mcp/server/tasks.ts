import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import { invalidArguments } from "../errors.ts";
import { carryOut, Work } from "../work.ts";
import { type TaskOptions, WorkTable } from "../work-table.ts";
import type { Caller } from "./caller.ts";
import type { Changes } from "./changes.ts";
import { TaskRun } from "./task-run.ts";

/** The owner of what nobody tells apart: without a principal or a session, all callers are one. */
const anybody = Symbol("anybody");

/** The tasks of a server, of both eras. */
export class Tasks {
  readonly #table: WorkTable<TaskRun>;
  readonly #clock: Clock;
  readonly #changes: Changes;

  constructor(clock: Clock, changes: Changes, options: TaskOptions | undefined) {
    this.#table = new WorkTable(clock, options);
    this.#clock = clock;
    this.#changes = changes;
  }

  /** Begins a task that a caller may ask about from now on. */
  start(
    run: (task: TaskRun) => MaybePromise<object>,
    context: CallContext,
    caller: Caller,
    askedTtl: unknown,
  ): TaskRun {
    const owner = { principal: context.principal?.id, session: caller.session };
    const make = (ttlMs: number): TaskRun => {
      const now = (): number => this.#clock.now();
      const work = new Work(ttlMs, now, () => this.#tell(task, caller));
      const task = new TaskRun(work, owner, caller.capabilities);
      return task;
    };
    const work = (task: TaskRun) => carryOut(task.work, () => run(task), context.log);
    return this.#table.begin(askedTtl, make, work, owner.principal ?? owner.session ?? anybody);
  }

  /** Throws for one that is not there, or belongs to somebody else. */
  find(taskId: unknown, context: CallContext, caller: Caller): TaskRun {
    const task = this.#found(taskId, context, caller);
    if (task === undefined) throw invalidArguments("there is no such task");
    return task;
  }

  has(taskId: unknown, context: CallContext, caller: Caller): boolean {
    return this.#found(taskId, context, caller) !== undefined;
  }

  list(context: CallContext, caller: Caller): TaskRun[] {
    return this.#table.list().filter((task) => belongs(task, context, caller));
  }

  /** Ends all that runs. */
  end(): void {
    this.#table.end();
  }

  #found(taskId: unknown, context: CallContext, caller: Caller): TaskRun | undefined {
    const task = this.#table.find(taskId);
    return task !== undefined && belongs(task, context, caller) ? task : undefined;
  }

  #tell(task: TaskRun, caller: Caller): void {
    const { id, shownLegacy } = task.work;
    this.#changes.taskChanged(id, task.whole);
    caller.session?.peer?.notify("notifications/tasks/status", { ...shownLegacy });
  }
}

/** Without a principal the id is the secret, and a session keeps its tasks to itself. */
function belongs({ owner }: TaskRun, context: CallContext, caller: Caller): boolean {
  if (owner.principal !== context.principal?.id) return false;
  return owner.principal !== undefined || owner.session === caller.session;
}
