import type { Clock } from "../../protocol/clock.ts";
import type { CallContext } from "../../protocol/context.ts";
import { RpcError } from "../../protocol/errors.ts";
import type { Log } from "../../protocol/log.ts";
import { andThen, isThenable, type MaybePromise } from "../../protocol/message.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { InputMethod, InputMethods, InputRequest } from "../client-input.ts";
import { errorOf, missingCapability } from "../errors.ts";
import {
  legacyTaskOf,
  plainError,
  type TaskAnswer,
  type TaskRecord,
  withStatus,
} from "../task-record.ts";
import { type LiveTask, type TaskOptions, TaskTable } from "../task-table.ts";
import { type ClientRequester, checkedAnswer, lackingCapability } from "./client-requester.ts";
import type { Caller } from "./operation.ts";
import type { Session } from "./session.ts";

/** Names of sessions that are a connection, and so have no id. */
const connections = new WeakMap<Session, string>();

/** Without a principal a task belongs to its session, or else to everyone who knows its id. */
function ownerOf({ principal }: CallContext, { session }: Caller): string {
  if (principal !== undefined) return JSON.stringify(["mcp", "principal", principal.id]);
  if (session === undefined) return JSON.stringify(["mcp"]);
  let id = session.id || connections.get(session);
  if (id === undefined) {
    id = crypto.randomUUID();
    connections.set(session, id);
  }
  return JSON.stringify(["mcp", "session", id]);
}

/** The tasks of a server, of both eras. */
export class Tasks {
  readonly #table: TaskTable;
  readonly #clock: Clock;
  /** Tasks of this process with their questions, by id. */
  readonly #runs = new Map<string, TaskRun>();

  constructor(clock: Clock, log: Log, options: TaskOptions | undefined) {
    this.#table = new TaskTable(clock, log, options);
    this.#clock = clock;
  }

  /** Starts a task that the caller can ask about. */
  start(
    run: (task: TaskRun) => MaybePromise<object>,
    context: CallContext,
    caller: Caller,
    askedTtl: unknown,
    args: object,
  ): MaybePromise<TaskRun> {
    let started: TaskRun | undefined;
    const begin = (task: LiveTask): MaybePromise<object> => {
      started = new TaskRun(task, this.#table, caller.capabilities);
      this.#runs.set(task.id, started);
      const leave = this.#table.follow(task.first, (record) => {
        if (record !== undefined)
          caller.session?.peer?.notify("notifications/tasks/status", { ...legacyTaskOf(record) });
        if (record === undefined || record.phase === "over") leave();
      });
      task.observer = {
        refreshed: ({ body }) => started?.take(body.answers),
        ended: () => this.#runs.delete(task.id),
      };
      return run(started);
    };
    const owner = ownerOf(context, caller);
    const task = this.#table.start(owner, askedTtl, args, begin, context.log);
    return andThen(task, () => started as TaskRun);
  }

  /** Throws if there is no such task or it belongs to another caller. */
  find(taskId: unknown, context: CallContext, caller: Caller): MaybePromise<TaskRecord> {
    return this.#table.find(taskId, ownerOf(context, caller));
  }

  get(taskId: unknown, context: CallContext, caller: Caller): MaybePromise<TaskRecord | undefined> {
    return this.#table.get(taskId, ownerOf(context, caller));
  }

  list(context: CallContext, caller: Caller): Promise<TaskRecord[]> {
    return this.#table.list(ownerOf(context, caller));
  }

  cancel(taskId: unknown, context: CallContext, caller: Caller) {
    return this.#table.cancel(taskId, ownerOf(context, caller));
  }

  /** Reports the changes of a task, until the function that it returns is called. */
  follow(record: TaskRecord, changed: (record: TaskRecord) => void): () => void {
    return this.#table.follow(record, (next) => next !== undefined && changed(next));
  }

  /** Passes the client's answers to the process that asked; ignores answers without a question. */
  async answer(
    taskId: unknown,
    answers: Readonly<Record<string, TaskAnswer>>,
    context: CallContext,
    caller: Caller,
  ): Promise<void> {
    const { id, owner } = await this.find(taskId, context, caller);
    const run = this.#runs.get(id);
    if (run !== undefined) return run.take(answers);
    await this.#table.change(id, owner, (record) => {
      const { questions = {}, answers: earlier = {} } = record.body;
      const known = Object.entries(answers).filter(([key]) => Object.hasOwn(questions, key));
      if (record.phase === "over" || known.length === 0) return undefined;
      const rest = Object.entries(questions).filter(([key]) => !Object.hasOwn(answers, key));
      const status = rest.length === 0 ? "working" : "input_required";
      const more = {
        questions: Object.fromEntries(rest),
        answers: { ...earlier, ...Object.fromEntries(known) },
      };
      return { record: withStatus(record, status, more, this.#clock.now()) };
    });
  }

  /** What the request would have returned, once the task is over; `meanwhile` gets the questions before each wait. */
  outcome(
    taskId: unknown,
    context: CallContext,
    caller: Caller,
    meanwhile: (questions: Readonly<Record<string, InputRequest>>) => void,
  ): Promise<object> {
    const owner = ownerOf(context, caller);
    return this.#table.outcome(taskId, owner, context.signal, ({ body }) =>
      meanwhile(body.questions ?? {}),
    );
  }

  /** Cancels all tasks that run in this process. */
  end(): void {
    this.#table.end();
  }
}

interface Question {
  readonly request: InputRequest;
  answer(value: unknown): void;
  fail(error: unknown): void;
}

/** A tool that runs as a task, with its questions to the client. */
export class TaskRun implements ClientRequester {
  readonly task: LiveTask;
  readonly #table: TaskTable;
  readonly #capabilities: ClientCapabilities;
  readonly #questions = new Map<string, Question>();
  readonly #keys = new Set<string>();

  constructor(task: LiveTask, table: TaskTable, capabilities: ClientCapabilities) {
    this.task = task;
    this.#table = table;
    this.#capabilities = capabilities;
    const { signal } = task;
    signal.addEventListener("abort", () => {
      for (const question of this.#questions.values()) question.fail(signal.reason);
      this.#questions.clear();
    });
  }

  get record(): TaskRecord {
    return this.task.record ?? this.task.first;
  }

  /** The question waits until the client asks about the task. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    const lacking = lackingCapability(request, this.#capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    const { signal } = this.task;
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
      this.#store();
    });
  }

  /** Keys are unique: a late answer must not match another question, and clients answer each key once. */
  #keyFor(named = `input-${this.#keys.size + 1}`): string {
    let key = named;
    for (let number = 2; this.#keys.has(key); number++) key = `${named}-${number}`;
    this.#keys.add(key);
    return key;
  }

  /** Takes the client's answers; ignores those without a question. */
  take(answers: Readonly<Record<string, TaskAnswer>> = {}): void {
    let isNew = false;
    for (const [key, answer] of Object.entries(answers)) {
      const question = this.#questions.get(key);
      if (question === undefined) continue;
      isNew = true;
      this.#questions.delete(key);
      if ("error" in answer) question.fail(errorOf(answer.error));
      else question.answer(answer.value);
    }
    if (isNew) this.#store();
  }

  /** Shows the questions that are open to every process that may be asked about the task. */
  #store(): void {
    const questions = Object.fromEntries(
      Array.from(this.#questions, ([key, { request }]) => [key, request] as const),
    );
    const status = this.#questions.size === 0 ? "working" : "input_required";
    const failed = (error: unknown): void => {
      for (const question of this.#questions.values()) question.fail(error);
      this.#questions.clear();
    };
    try {
      const stored = this.#table.become(this.task, status, { questions, answers: {} });
      if (isThenable(stored)) void stored.then(undefined, failed);
    } catch (error) {
      failed(error);
    }
  }
}

/** The answer of a client that was asked directly. */
export function refusedAnswer(error: Error): TaskAnswer {
  const known = error instanceof RpcError ? error : { code: -32603, message: error.message };
  return { error: plainError(known) };
}
