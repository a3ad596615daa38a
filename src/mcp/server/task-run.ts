import type { ErrorObject } from "../../protocol/message.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { InputMethod, InputMethods, InputRequest } from "../client-input.ts";
import { missingCapability } from "../errors.ts";
import { isOver, type LegacyTask, type Task, type TaskStatus } from "../task.ts";
import { checkedAnswer, type Inquirer, lackingCapability } from "./inquirer.ts";

interface Question {
  readonly request: InputRequest;
  answer(value: unknown): void;
  fail(error: Error): void;
}

/** Who may ask about a task. */
export interface TaskOwner {
  readonly principal: string | undefined;
  readonly session: string | undefined;
}

/** Work that goes on after its request was answered. */
export class TaskRun implements Inquirer {
  readonly id: string = crypto.randomUUID();
  readonly owner: TaskOwner;
  readonly ttlMs: number;
  readonly controller = new AbortController();
  status: TaskStatus = "working";
  statusMessage: string | undefined = undefined;
  /** What the tool gave. */
  result: object | undefined = undefined;
  /** What the request would have failed with. */
  error: ErrorObject | undefined = undefined;
  readonly #capabilities: ClientCapabilities;
  readonly #now: () => number;
  readonly #createdAt: string;
  #updatedAt: string;
  readonly #changed: (task: TaskRun) => void;
  readonly #questions = new Map<string, Question>();
  #count = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    owner: TaskOwner,
    ttlMs: number,
    capabilities: ClientCapabilities,
    now: () => number,
    changed: (task: TaskRun) => void,
  ) {
    this.owner = owner;
    this.ttlMs = ttlMs;
    this.#capabilities = capabilities;
    this.#now = now;
    this.#changed = changed;
    this.#createdAt = new Date(now()).toISOString();
    this.#updatedAt = this.#createdAt;
  }

  get isOver(): boolean {
    return isOver(this.status);
  }

  /** Resolves when its status changes, or the signal aborts. */
  change(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  complete(result: object): void {
    this.result = result;
    this.#become("completed");
  }

  fail(error: ErrorObject): void {
    this.error = error;
    this.statusMessage = error.message;
    this.#become("failed");
  }

  /** False where it was over before. */
  cancel(): boolean {
    if (this.isOver) return false;
    this.#become("cancelled");
    const reason = new Error("the task was cancelled");
    this.controller.abort(reason);
    for (const question of this.#questions.values()) question.fail(reason);
    this.#questions.clear();
    return true;
  }

  /** The question waits here until the client asks about the task. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    const lacking = lackingCapability(request, this.#capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    // A key is never used twice, or a late answer could be taken for another.
    const number = ++this.#count;
    const key = named === undefined || this.#questions.has(named) ? `input-${number}` : named;
    return new Promise((resolve, reject) => {
      this.#questions.set(key, {
        request,
        answer: (value) => {
          try {
            resolve(checkedAnswer(request, value));
          } catch (error) {
            reject(error);
          }
        },
        fail: reject,
      });
      this.#become("input_required");
    });
  }

  /** Answers that belong to no question are ignored. */
  update(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(answers)) {
      const question = this.#questions.get(key);
      if (question === undefined) continue;
      this.#questions.delete(key);
      question.answer(value);
    }
    if (this.status === "input_required" && this.#questions.size === 0) this.#become("working");
  }

  /** The client would not answer. */
  refuse(key: string, error: Error): void {
    const question = this.#questions.get(key);
    this.#questions.delete(key);
    question?.fail(error);
    this.update({});
  }

  get inputRequests(): Readonly<Record<string, InputRequest>> {
    return Object.fromEntries(
      Array.from(this.#questions, ([key, { request }]) => [key, request] as const),
    );
  }

  /** As the extension shows it; polls need not come faster than twice a second. */
  get shown(): Task {
    return { ...this.#state(), ttlMs: this.ttlMs, pollIntervalMs: 500 };
  }

  get shownLegacy(): LegacyTask {
    return { ...this.#state(), ttl: this.ttlMs, pollInterval: 500 };
  }

  /** The task with its outcome or its questions. */
  get whole(): Task & Readonly<Record<string, unknown>> {
    const { status, result, error } = this;
    return {
      ...this.shown,
      ...(status === "completed" && { result }),
      ...(status === "failed" && error !== undefined && { error: plain(error) }),
      ...(status === "input_required" && { inputRequests: this.inputRequests }),
    };
  }

  #state() {
    const { id, status, statusMessage } = this;
    return {
      taskId: id,
      status,
      ...(statusMessage !== undefined && { statusMessage }),
      createdAt: this.#createdAt,
      lastUpdatedAt: this.#updatedAt,
    };
  }

  #become(status: TaskStatus): void {
    if (this.isOver) return;
    this.status = status;
    this.#updatedAt = new Date(this.#now()).toISOString();
    for (const tell of this.#waiting.splice(0)) tell();
    this.#changed(this);
  }
}

function plain({ code, message, data }: ErrorObject): ErrorObject {
  return data === undefined ? { code, message } : { code, message, data };
}
