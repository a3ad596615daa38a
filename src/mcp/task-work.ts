import { internalError, RemoteError, RpcError, requestCancelled } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import type { ErrorObject, MaybePromise } from "../protocol/message.ts";
import { errorOf, McpError } from "./errors.ts";
import { MetaKey } from "./meta-keys.ts";
import { isOver, type LegacyTask, type Task, type TaskStatus } from "./task.ts";

/** How often others need look, in milliseconds. */
const pollMs = 500;

/** What goes on after its request was answered with a task, at either end. */
export class TaskWork {
  readonly id: string = crypto.randomUUID();
  readonly ttlMs: number;
  readonly controller = new AbortController();
  status: TaskStatus = "working";
  /** What the request would have been answered with. */
  result: object | undefined = undefined;
  /** What the request would have failed with. */
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

  /** What is over stays as it ended, whatever comes later. */
  become(status: TaskStatus): void {
    if (this.isOver) return;
    this.status = status;
    this.#updatedAt = new Date(this.#now()).toISOString();
    for (const tell of [...this.#waiting]) tell();
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

  /** False where it was over before. */
  cancel(): boolean {
    if (this.isOver) return false;
    this.become("cancelled");
    this.controller.abort(new Error("the task was cancelled"));
    return true;
  }

  /** As the extension shows it. */
  get asTask(): Task {
    return { ...this.#state(), ttlMs: this.ttlMs, pollIntervalMs: pollMs };
  }

  /** As 2025-11-25 shows it. */
  get asLegacyTask(): LegacyTask {
    return { ...this.#state(), ttl: this.ttlMs, pollInterval: pollMs };
  }

  /**
   * What `tasks/result` of 2025-11-25 answers: what the request itself would have been answered
   * with, once the work is over. `meanwhile` runs before each wait.
   */
  async outcome(signal: AbortSignal, meanwhile: () => void = () => {}): Promise<object> {
    while (!this.isOver) {
      // Nobody waits any more, and nobody will hear of this.
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

/** Does the work; what is thrown becomes its error, without what is inside of this program. */
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
