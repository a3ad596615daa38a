import type { Clock } from "../protocol/clock.ts";
import { RemoteError, RpcError } from "../protocol/errors.ts";
import { limitOf } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import { andThen, isThenable, type MaybePromise } from "../protocol/message.ts";
import { internalError, requestCancelled } from "../protocol/standard-errors.ts";
import type { Amendment, LiveWork } from "../work/live-work.ts";
import { MemoryWorkStore } from "../work/memory-store.ts";
import type { WorkStore } from "../work/work-store.ts";
import { type WorkFollower, WorkTable } from "../work/work-table.ts";
import { errorOf, invalidArguments, McpError } from "./errors.ts";
import { MetaKey } from "./meta-keys.ts";
import type { TaskStatus } from "./task.ts";
import {
  firstRecord,
  plainError,
  type TaskBody,
  type TaskRecord,
  withStatus,
} from "./task-record.ts";

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
  /**
   * Where tasks are stored, such as a `PostgresWorkStore`; then `maxTasks` and `maxBytes` bound those that run. Servers
   * that are not one fleet need stores of their own. @default this process
   */
  readonly store?: WorkStore;
}

/** A task that runs in this process. */
export type LiveTask = LiveWork<TaskBody>;

/** The tasks of a server or a client, in all its processes. */
export class TaskTable {
  readonly #table: WorkTable<TaskBody>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #maxTasks: number;
  readonly #ttlMs: number;
  readonly #maxTtlMs: number;

  constructor(clock: Clock, log: Log, options: TaskOptions = {}) {
    const maxTasks = limitOf("maxTasks", options.maxTasks, 1_000);
    const maxBytes = limitOf("maxBytes", options.maxBytes, 64 * 1024 * 1024);
    this.#clock = clock;
    this.#log = log;
    this.#maxTasks = maxTasks;
    this.#ttlMs = limitOf("ttlMs", options.ttlMs, 600_000);
    this.#maxTtlMs = limitOf("maxTtlMs", options.maxTtlMs, 3_600_000);
    this.#table = new WorkTable({
      store: options.store ?? new MemoryWorkStore({ maxRecords: maxTasks, maxBytes, clock }),
      clock,
      log,
      maxRunning: maxTasks,
      maxRunningBytes: maxBytes,
      abandoned: (record) => ({
        record: this.#with(record, "failed", {
          error: {
            code: internalError.code,
            message: "the process that ran this task has stopped",
          },
        }),
      }),
    });
  }

  /** Stores a task of an owner, then runs it; if all have the owner "", that may use all slots. Throws if none is free. */
  start(
    owner: string,
    askedTtl: unknown,
    args: object | undefined,
    run: (task: LiveTask) => MaybePromise<object>,
    log: Log = this.#log,
  ): MaybePromise<LiveTask> {
    const isTime = typeof askedTtl === "number" && askedTtl > 0;
    const ttlMs = isTime ? Math.min(askedTtl, this.#maxTtlMs) : this.#ttlMs;
    const first = firstRecord(owner, ttlMs, args, this.#clock.now());
    const task = refusing(() => this.#table.admit(first, owner || undefined));
    const begun = (): LiveTask => {
      const timer = this.#clock.after(ttlMs, () => void this.#drop(task));
      void this.#run(task, run, log).finally(() => {
        timer.cancel();
        task.release();
      });
      return task;
    };
    const failed = (error: unknown): never => {
      task.release();
      throw error;
    };
    try {
      const stored = refusing(() => task.begin());
      return isThenable(stored) ? stored.then(begun, failed) : begun();
    } catch (error) {
      return failed(error);
    }
  }

  /** Throws if there is no such task, or it belongs to another owner. */
  find(taskId: unknown, owner: string): MaybePromise<TaskRecord> {
    return andThen(this.get(taskId, owner), (record) => {
      if (record === undefined) throw noSuchTask();
      return record;
    });
  }

  get(taskId: unknown, owner: string): MaybePromise<TaskRecord | undefined> {
    return typeof taskId === "string" ? this.#table.find(taskId, owner) : undefined;
  }

  /** The tasks of an owner, oldest first. */
  async list(owner: string): Promise<TaskRecord[]> {
    const { records } = await this.#table.list({ owner, limit: this.#maxTasks });
    return [...records].sort((a, b) => a.body.createdAt - b.body.createdAt);
  }

  follow(record: TaskRecord, follower: WorkFollower<TaskBody, never>): () => void {
    return this.#table.follow(record.id, record, follower);
  }

  /** Changes a task of any process. */
  async change(
    taskId: unknown,
    owner: string,
    make: Amendment<TaskBody, never>,
  ): Promise<TaskRecord> {
    const { id } = await this.find(taskId, owner);
    const record = await this.#table.change(id, owner, make);
    if (record === undefined) throw noSuchTask();
    return record;
  }

  /** Changes the status of a task that runs in this process, unless it is over. */
  become(
    task: LiveTask,
    status: TaskStatus,
    more: Partial<TaskBody> = {},
  ): MaybePromise<TaskRecord | undefined> {
    return task.amend((record) => ({ record: this.#with(record, status, more) }));
  }

  /** Cancels a task; `wasOver` says that it was too late. */
  async cancel(
    taskId: unknown,
    owner: string,
  ): Promise<{ readonly record: TaskRecord; readonly wasOver: boolean }> {
    const live = this.#table.live(taskId as string);
    let wasOver = false;
    const record = await this.change(taskId, owner, (before) => {
      wasOver = before.phase === "over";
      return wasOver ? undefined : { record: this.#with(before, "cancelled", {}) };
    });
    live?.abort(cancellation());
    return { record, wasOver };
  }

  /**
   * The reply to `tasks/result` of 2025-11-25, once the task is over: what the request itself would have returned.
   * `meanwhile` runs before each wait.
   */
  async outcome(
    taskId: unknown,
    owner: string,
    signal: AbortSignal,
    meanwhile: (record: TaskRecord) => void = () => {},
  ): Promise<object> {
    let record = await this.find(taskId, owner);
    while (record.phase !== "over") {
      // The caller has disconnected and will not see this error.
      if (signal.aborted) throw signal.reason;
      meanwhile(record);
      record = await this.#next(record, signal);
    }
    const { result, error } = record.body;
    if (error !== undefined) throw errorOf(error);
    if (record.state === "cancelled") {
      throw new McpError(requestCancelled.code, "the task was cancelled");
    }
    const { _meta, ...rest } = result as { _meta?: object };
    return { ...rest, _meta: { ..._meta, [MetaKey.RelatedTask]: { taskId: record.id } } };
  }

  /** Cancels all tasks that run in this process. */
  end(): void {
    this.#table.close();
  }

  /** The record after its next change; the same one if the signal aborts. */
  async #next(record: TaskRecord, signal: AbortSignal): Promise<TaskRecord> {
    let wake: (next: TaskRecord | undefined) => void = () => {};
    const woken = new Promise<TaskRecord | undefined>((resolve) => {
      wake = resolve;
    });
    const stopped = (): void => wake(record);
    const leave = this.follow(record, (next) => wake(next));
    signal.addEventListener("abort", stopped, { once: true });
    try {
      // It may have changed before it was followed.
      const now = await this.find(record.id, record.owner);
      const next = now.version > record.version || signal.aborted ? now : await woken;
      if (next === undefined) throw noSuchTask();
      return next;
    } finally {
      leave();
      signal.removeEventListener("abort", stopped);
    }
  }

  /** Runs a task; internal errors are logged and not shown to the peer. */
  async #run(
    task: LiveTask,
    run: (task: LiveTask) => MaybePromise<object>,
    log: Log,
  ): Promise<void> {
    try {
      await this.become(task, "completed", { result: await run(task) });
    } catch (error) {
      const isOwn = error instanceof RpcError && !(error instanceof RemoteError);
      if (!isOwn && !task.isOver) log.error({ err: error, task: task.id }, "a task failed");
      try {
        await this.become(task, "failed", { error: plainError(isOwn ? error : internalError) });
      } catch (failure) {
        log.error({ err: failure, task: task.id }, "could not store that a task failed");
      }
    }
  }

  /** A task has expired. */
  async #drop(task: LiveTask): Promise<void> {
    try {
      await this.become(task, "cancelled");
      await this.#table.remove(task.id);
    } catch (error) {
      this.#log.warn({ err: error, task: task.id }, "could not remove a task");
    }
    task.abort(cancellation());
  }

  #with(before: TaskRecord, status: TaskStatus, more: Partial<TaskBody>): TaskRecord {
    return withStatus(before, status, more, this.#clock.now());
  }
}

function noSuchTask(): McpError {
  return invalidArguments("there is no such task");
}

function cancellation(): Error {
  return new Error("the task was cancelled");
}

/** A refusal fails the request itself, also if a tool causes it. */
function refusing<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw error instanceof RpcError ? protocolError(error) : error;
  }
}

function protocolError(error: RpcError): McpError {
  const { code, message, data, status, headers } = error;
  return new McpError(code, message, data, {
    cause: error,
    ...(status !== undefined && { status }),
    ...(headers !== undefined && { headers }),
  });
}
