import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { RpcError } from "../protocol/errors.ts";
import { isoTime } from "../protocol/iso-time.ts";
import type { Log } from "../protocol/log.ts";
import { andThen, type MaybePromise } from "../protocol/message.ts";
import type { Amendment, WorkChange } from "../work/live-work.ts";
import type { WorkPage, WorkQuery, WorkStore } from "../work/work-store.ts";
import { WorkTable } from "../work/work-table.ts";
import { agentMessage, statusEvent } from "./agent-update.ts";
import { a2aError, invalidField, taskNotFound } from "./errors.ts";
import type { Execute } from "./executor.ts";
import { HandedTask } from "./handed-task.ts";
import { messageTo, taskTo } from "./legacy.ts";
import {
  isTerminal,
  type Message,
  type SendParams,
  type StreamResponse,
  type Task,
  textOf,
} from "./model.ts";
import type { PushSender } from "./push-sender.ts";
import { Subscription } from "./subscription.ts";
import {
  bytesOf,
  changeBy,
  firstRecord,
  type TaskBody,
  type TaskPush,
  type TaskRecord,
  withPush,
  withTask,
} from "./task-record.ts";
import { type RunHost, TaskRun } from "./task-run.ts";

export interface AgentTasksSettings {
  readonly execute: Execute;
  readonly store: WorkStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxRunning: number;
  readonly maxRunningBytes: number;
  readonly push: PushSender | undefined;
}

/** The tasks of an agent: runs it, stores what it does, and publishes it to subscribers and webhooks. */
export class AgentTasks implements RunHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly #settings: AgentTasksSettings;
  readonly #table: WorkTable<TaskBody, StreamResponse>;

  constructor(settings: AgentTasksSettings) {
    const { clock, log, store, maxRunning, maxRunningBytes } = settings;
    this.clock = clock;
    this.log = log;
    this.#settings = settings;
    this.#table = new WorkTable({
      store,
      clock,
      log,
      maxRunning,
      maxRunningBytes,
      published: (record, events) => this.#push(record, events),
      abandoned: (record) => this.#failed(record),
    });
  }

  /** Runs the agent on a message. */
  start(params: SendParams, call: Context, push: TaskPush | undefined): MaybePromise<TaskRun> {
    return andThen(this.#prepare(params, call, push), (run) => {
      this.#drive(run, params, call);
      return run;
    });
  }

  /** The same, with all events from the first. */
  startStream(
    params: SendParams,
    call: Context,
    push: TaskPush | undefined,
  ): MaybePromise<Subscription> {
    return andThen(this.#prepare(params, call, push), (run) => {
      const subscription = new Subscription(this.#table, run.id, false);
      this.#drive(run, params, call);
      run.outcome.then(
        (result) => {
          if (!("message" in result)) return;
          subscription.push([result]);
          subscription.end();
        },
        // If the agent fails before there is a task, no event reports its error.
        (error: unknown) => subscription.fail(error),
      );
      return subscription;
    });
  }

  /** Throws if there is no such task, or it belongs to another caller. */
  find(id: string, owner: string): MaybePromise<TaskRecord> {
    return andThen(this.#table.find(id, owner), (record) => {
      if (record === undefined) throw taskNotFound(id);
      return record;
    });
  }

  list(query: WorkQuery): MaybePromise<WorkPage<TaskBody>> {
    return this.#table.list(query);
  }

  /** The task as it is, then its further events. */
  async subscribe(id: string, owner: string): Promise<Subscription> {
    const subscription = new Subscription(this.#table, id, true);
    try {
      const record = await this.find(id, owner);
      if (record.phase === "over")
        throw a2aError("UnsupportedOperation", "The task is over; get it instead", { taskId: id });
      return subscription.startFrom(record);
    } catch (error) {
      subscription.end();
      throw error;
    }
  }

  async cancel(id: string, owner: string): Promise<Task> {
    const live = this.#table.live(id);
    const { body } = await this.change(id, owner, (record) => {
      if (record.phase === "over") throw notCancelable(id);
      const now = this.clock.now();
      return changeBy(record, [statusEvent(record.body.task, "TASK_STATE_CANCELED", now)], now);
    });
    live?.abort();
    return body.task;
  }

  /** Changes a task, whether the agent works on it or not. */
  async change(
    id: string,
    owner: string,
    make: Amendment<TaskBody, StreamResponse>,
  ): Promise<TaskRecord> {
    const record = await this.#table.change(id, owner, make);
    if (record === undefined) throw taskNotFound(id);
    return record;
  }

  /** Stops all agents that run, and ends all subscriptions. */
  close(): void {
    this.#table.close();
    this.#settings.push?.close();
  }

  replied(message: Message, first: TaskRecord): void {
    this.#push(first, [{ message }]);
  }

  #push({ body: { task, push } }: TaskRecord, events: readonly StreamResponse[]): void {
    // Written once for all webhooks of a form, because the task may be large.
    for (const isLegacy of [false, true]) {
      const receivers = push.filter((each) => each.isLegacy === isLegacy);
      if (receivers.length === 0) continue;
      for (const event of notificationsOf(isLegacy, task, events)) {
        const text = JSON.stringify(event);
        for (const each of receivers) this.#settings.push?.send(each, text);
      }
    }
  }

  #failed(record: TaskRecord): WorkChange<TaskBody, StreamResponse> {
    const { task } = record.body;
    const now = this.clock.now();
    const message = agentMessage("The process that worked on this task has stopped", task);
    return changeBy(record, [statusEvent(task, "TASK_STATE_FAILED", now, message)], now);
  }

  #prepare(params: SendParams, call: Context, push: TaskPush | undefined): MaybePromise<TaskRun> {
    const owner = ownerOf(call, params.tenant);
    const { taskId = "" } = params.message;
    const first =
      taskId === ""
        ? this.#newRecord(params, owner)
        : andThen(this.find(taskId, owner), (record) => this.#continued(params, record));
    // Without the tenant, which is the client's choice.
    const share = call.principal?.id;
    return andThen(
      first,
      (record) => new TaskRun(this, this.#table.admit(withWebhook(record, push), share)),
    );
  }

  #drive(run: TaskRun, params: SendParams, call: Context): void {
    const { message } = params;
    const { contextId } = run.work.first.body.task;
    const received = { ...message, contextId, text: textOf(message) };
    void run.drive(() => this.#settings.execute(received, new HandedTask(run.work, params, call)));
  }

  #newRecord({ message, metadata, configuration }: SendParams, owner: string): TaskRecord {
    const now = this.clock.now();
    const id = crypto.randomUUID();
    const contextId = message.contextId || crypto.randomUUID();
    const task: Task = {
      id,
      contextId,
      status: { state: "TASK_STATE_SUBMITTED", timestamp: isoTime(now) },
      history: [{ ...message, contextId, taskId: id }],
      ...(metadata !== undefined && { metadata }),
    };
    return firstRecord(task, owner, bytesOf([task, owner, configuration]), now);
  }

  /** The task with the client's next message. */
  #continued({ message, configuration }: SendParams, record: TaskRecord): TaskRecord {
    const { task } = record.body;
    const { id, contextId } = task;
    if ((message.contextId || contextId) !== contextId)
      throw invalidField("message.contextId", "is not that of the task");
    if (isTerminal(task.status.state))
      throw a2aError("UnsupportedOperation", "The task is over; send a message without it", {
        taskId: id,
      });
    if (record.phase === "active")
      throw a2aError("UnsupportedOperation", "The task is working; wait until it asks for input", {
        taskId: id,
      });
    const now = this.clock.now();
    const added = { ...message, contextId };
    const status = { state: "TASK_STATE_WORKING", timestamp: isoTime(now) } as const;
    const continued = { ...task, status, history: [...(task.history ?? []), added] };
    return withTask(record, continued, bytesOf([added, configuration]), now);
  }
}

function withWebhook(record: TaskRecord, push: TaskPush | undefined): TaskRecord {
  if (push === undefined) return record;
  const config = { ...push.config, taskId: record.id };
  const others = record.body.push.filter((each) => each.config.id !== config.id);
  return withPush(record, [...others, { ...push, config }]);
}

/** What a webhook gets of a change: each event, or in 0.3 the task as it is then. */
function notificationsOf(
  isLegacy: boolean,
  task: Task,
  events: readonly StreamResponse[],
): readonly object[] {
  if (!isLegacy) return events;
  const message = events.find((event) => "message" in event);
  return [message === undefined ? taskTo(task) : messageTo(message.message)];
}

const everyone = JSON.stringify(["", null]);

/** Tasks belong to the principal of their tenant; without authentication, to everyone who knows the id. */
export function ownerOf(call: Context, tenant: string | undefined): string {
  const { principal } = call;
  if (tenant === undefined && principal === undefined) return everyone;
  return JSON.stringify([tenant ?? "", principal?.id ?? null]);
}

function notCancelable(id: string): RpcError {
  return a2aError("TaskNotCancelable", "The task is over", { taskId: id });
}
