import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import type { ErrorObject, MaybePromise } from "../../protocol/message.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { InputMethod, InputMethods, InputRequest } from "../client-input.ts";
import { invalidArguments, missingCapability } from "../errors.ts";
import type { Task } from "../task.ts";
import { type TaskOptions, TaskTable } from "../task-table.ts";
import { runTask, TaskWork } from "../task-work.ts";
import type { Changes } from "./changes.ts";
import { type ClientRequester, checkedAnswer, lackingCapability } from "./client-requester.ts";
import type { Caller } from "./operation.ts";
import type { Session } from "./session.ts";

/** The owner of all tasks without a principal or a session. */
const anybody = Symbol("anybody");

/** The tasks of a server, of both eras. */
export class Tasks {
  readonly #table: TaskTable<TaskRun>;
  readonly #clock: Clock;
  readonly #changes: Changes;

  constructor(clock: Clock, changes: Changes, options: TaskOptions | undefined) {
    this.#table = new TaskTable(clock, options);
    this.#clock = clock;
    this.#changes = changes;
  }

  /** Starts a task that the caller can ask about. */
  start(
    run: (task: TaskRun) => MaybePromise<object>,
    context: CallContext,
    caller: Caller,
    askedTtl: unknown,
    args: object,
  ): TaskRun {
    const owner = { principal: context.principal?.id, session: caller.session };
    const make = (ttlMs: number): TaskRun => {
      const now = (): number => this.#clock.now();
      const work = new TaskWork(ttlMs, now, () => this.#notify(task, caller));
      const task = new TaskRun(work, owner, caller.capabilities);
      return task;
    };
    const work = (task: TaskRun) => runTask(task.work, () => run(task), context.log);
    const ownedBy = owner.principal ?? owner.session ?? anybody;
    return this.#table.begin(askedTtl, make, work, ownedBy, args);
  }

  /** Throws if there is no such task or it belongs to another caller. */
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

  /** Cancels and drops all tasks. */
  end(): void {
    this.#table.end();
  }

  #found(taskId: unknown, context: CallContext, caller: Caller): TaskRun | undefined {
    const task = this.#table.find(taskId);
    return task !== undefined && belongs(task, context, caller) ? task : undefined;
  }

  #notify(task: TaskRun, caller: Caller): void {
    const { id, asLegacyTask } = task.work;
    this.#changes.taskChanged(id, task.asTaskResult);
    caller.session?.peer?.notify("notifications/tasks/status", { ...asLegacyTask });
  }
}

/** Without a principal the task belongs to its session, or else to everyone who knows its id. */
function belongs({ owner }: TaskRun, context: CallContext, caller: Caller): boolean {
  if (owner.principal !== context.principal?.id) return false;
  return owner.principal !== undefined || owner.session === caller.session;
}

interface Question {
  readonly request: InputRequest;
  answer(value: unknown): void;
  fail(error: Error): void;
}

/** The caller that a task belongs to. */
export interface TaskOwner {
  readonly principal: string | undefined;
  readonly session: Session | undefined;
}

/** A tool that runs as a task, with its questions to the client. */
export class TaskRun implements ClientRequester {
  readonly work: TaskWork;
  readonly owner: TaskOwner;
  readonly #capabilities: ClientCapabilities;
  readonly #questions = new Map<string, Question>();
  readonly #keys = new Set<string>();

  constructor(work: TaskWork, owner: TaskOwner, capabilities: ClientCapabilities) {
    this.work = work;
    this.owner = owner;
    this.#capabilities = capabilities;
    const { signal } = work.controller;
    signal.addEventListener("abort", () => {
      for (const question of this.#questions.values()) question.fail(signal.reason);
      this.#questions.clear();
    });
  }

  /** The question waits until the client asks about the task. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    const lacking = lackingCapability(request, this.#capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    const { signal } = this.work.controller;
    if (signal.aborted) return Promise.reject(signal.reason);
    const key = this.#keyFor(named);
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
      this.work.become("input_required");
    });
  }

  /** Keys are unique: a late answer must not match another question, and clients answer each key once. */
  #keyFor(named = `input-${this.#keys.size + 1}`): string {
    let key = named;
    for (let number = 2; this.#keys.has(key); number++) key = `${named}-${number}`;
    this.#keys.add(key);
    return key;
  }

  /** Ignores answers without a question. */
  update(answers: Readonly<Record<string, unknown>>): void {
    for (const [key, value] of Object.entries(answers)) {
      const question = this.#questions.get(key);
      if (question === undefined) continue;
      this.#questions.delete(key);
      question.answer(value);
    }
    const { work } = this;
    if (work.status === "input_required" && this.#questions.size === 0) work.become("working");
  }

  /** The client refused to answer. */
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

  /** The task with its result or questions, in the form of the extension. */
  get asTaskResult(): Task & Readonly<Record<string, unknown>> {
    const { status, result, error, asTask } = this.work;
    return {
      ...asTask,
      ...(status === "completed" && { result }),
      ...(error !== undefined && { error: plain(error) }),
      ...(status === "input_required" && { inputRequests: this.inputRequests }),
    };
  }
}

function plain({ code, message, data }: ErrorObject): ErrorObject {
  return data === undefined ? { code, message } : { code, message, data };
}
