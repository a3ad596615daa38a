import { internalError, RemoteError, RpcError, requestCancelled } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import type { ErrorObject, MaybePromise } from "../protocol/message.ts";
import { errorOf, McpError } from "./errors.ts";
import { MetaKey } from "./meta-keys.ts";
import { isOver, type LegacyTask, type Task, type TaskStatus } from "./task.ts";

/** The polling interval that peers are asked to use, in milliseconds. */
const pollMs = 500;

/** The work of a task, which goes on after its request was answered; on servers and clients. */
export class TaskWork {
  readonly id: string = crypto.randomUUID();
  readonly ttlMs: number;
  readonly controller = new AbortController();
  status: TaskStatus = "working";
  /** The result that the request would have had. */
  result: object | undefined = undefined;
  /** The error that the request would have had. */
  error: ErrorObject | undefined = undefined;
  readonly #now: () => number;
  readonly #createdAt: string;
  #updatedAt: string;
  readonly #changed: () => void;
  readonly #waiting = new Set<() => void>();

  constructor(ttlMs: number, now: () => number, changed: () => void = () => {}) {
    this.ttlMs = ttlMs;
    this.#now = now;
    this.#changed = changed;
    this.#createdAt = new Date(now()).toISOString();
    this.#updatedAt = this.#createdAt;
  }

  get isOver(): boolean {
    return isOver(this.status);
  }

  /** Changes the status, unless the task is over. */
  become(status: TaskStatus): void {
    if (this.isOver) return;
    this.status = status;
    this.#updatedAt = new Date(this.#now()).toISOString();
    for (const wake of [...this.#waiting]) wake();
    this.#changed();
  }

  complete(result: object): void {
    if (this.isOver) return;
    this.result = result;
    this.become("completed");
  }

  fail(error: ErrorObject): void {
    if (this.isOver) return;
    this.error = error;
    this.become("failed");
  }

  /** False if the task was already over. */
  cancel(): boolean {
    if (this.isOver) return false;
    this.become("cancelled");
    this.controller.abort(new Error("the task was cancelled"));
    return true;
  }

  /** The task in the form of the extension. */
  get asTask(): Task {
    return { ...this.#state(), ttlMs: this.ttlMs, pollIntervalMs: pollMs };
  }

  /** The task in the form of 2025-11-25. */
  get asLegacyTask(): LegacyTask {
    return { ...this.#state(), ttl: this.ttlMs, pollInterval: pollMs };
  }

  /**
   * The reply to `tasks/result` of 2025-11-25, once the task is over: what the request itself would
   * have returned. `meanwhile` runs before each wait.
   */
  async outcome(signal: AbortSignal, meanwhile: () => void = () => {}): Promise<object> {
    while (!this.isOver) {
      // The caller is gone and will not see this error.
      if (signal.aborted) throw signal.reason;
      meanwhile();
      await this.#change(signal);
    }
    if (this.status === "cancelled") {
      throw new McpError(requestCancelled.code, "the task was cancelled");
    }
    if (this.error !== undefined) throw errorOf(this.error);
    const { _meta, ...rest } = this.result as { _meta?: object };
    return { ...rest, _meta: { ..._meta, [MetaKey.RelatedTask]: { taskId: this.id } } };
  }

  /** Resolves when its status changes, or the signal aborts. */
  #change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener("abort", done, { once: true });
    });
  }

  #state() {
    const { id, status, error } = this;
    return {
      taskId: id,
      status,
      ...(error !== undefined && { statusMessage: error.message }),
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
    };
  }
}

/** Runs the work of a task; internal errors are logged and not shown to the peer. */
export async function runTask(
  work: TaskWork,
  run: () => MaybePromise<object>,
  log: Log,
): Promise<void> {
  try {
    work.complete(await run());
  } catch (error) {
    const isOwn = error instanceof RpcError && !(error instanceof RemoteError);
    if (!isOwn && !work.isOver) log.error({ err: error, task: work.id }, "a task failed");
    work.fail(isOwn ? error : internalError);
  }
}
