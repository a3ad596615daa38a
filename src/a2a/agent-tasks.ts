import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { RpcError } from "../protocol/errors.ts";
import { isoTime } from "../protocol/iso-time.ts";
import type { Log } from "../protocol/log.ts";
import type { Amendment } from "../work/live-work.ts";
import type { WorkPage, WorkQuery, WorkStore } from "../work/work-store.ts";
import { WorkTable } from "../work/work-table.ts";
import { agentMessage, statusEvent } from "./agent-update.ts";
import { a2aError, invalidField, taskNotFound } from "./errors.ts";
import type { AgentTask, Execute } from "./executor.ts";
import {
  isTerminal,
  type Message,
  type PushConfig,
  type SendParams,
  type StreamResponse,
  type Task,
  textOf,
} from "./model.ts";
import type { PushSender } from "./push-sender.ts";
import { Subscription } from "./subscription.ts";
import {
  firstRecord,
  recordAfter,
  type TaskBody,
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
  readonly push: PushSender | undefined;
}

/** The tasks of an agent: runs it, stores what it does, and publishes it to subscribers and webhooks. */
export class AgentTasks implements RunHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly #settings: AgentTasksSettings;
  readonly #table: WorkTable<TaskBody, StreamResponse>;

  constructor(settings: AgentTasksSettings) {
    const { clock, log, store, maxRunning } = settings;
    this.clock = clock;
    this.log = log;
    this.#settings = settings;
    this.#table = new WorkTable({
      store,
      clock,
      log,
      maxRunning,
      published: (record, event) => this.#push(record, event),
      abandoned: (record) => this.#failed(record),
    });
  }

  /** Runs the agent on a message. */
  async start(params: SendParams, call: Context, push: PushConfig | undefined): Promise<TaskRun> {
    const run = await this.#prepare(params, call, push);
    this.#drive(run, params, call);
    return run;
  }

  /** The same, with all events from the first. */
  async startStream(
    params: SendParams,
    call: Context,
    push: PushConfig | undefined,
  ): Promise<Subscription> {
    const run = await this.#prepare(params, call, push);
    const subscription = new Subscription(this.#table, run.id, false);
    this.#drive(run, params, call);
    run.outcome.then(
      (result) => {
        if (!("message" in result)) return;
        subscription.push(result);
        subscription.end();
      },
      // If the agent fails before there is a task, no event reports its error.
      (error: unknown) => subscription.fail(error),
    );
    return subscription;
  }

  /** Throws if there is no such task, or it belongs to another caller. */
  async find(id: string, owner: string): Promise<TaskRecord> {
    const record = await this.#table.find(id, owner);
    if (record === undefined) throw taskNotFound(id);
    return record;
  }

  async list(query: WorkQuery): Promise<WorkPage<TaskBody>> {
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
      const event = statusEvent(record.body.task, "TASK_STATE_CANCELED", now);
      return { event, record: recordAfter(record, event, now) };
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
    this.#push(first, { message });
  }

  #push({ body }: TaskRecord, event: StreamResponse): void {
    for (const config of body.push) this.#settings.push?.send(config, event);
  }

  #failed(record: TaskRecord): { readonly record: TaskRecord; readonly event: StreamResponse } {
    const { task } = record.body;
    const now = this.clock.now();
    const message = agentMessage("The process that worked on this task has stopped", task);
    const event = statusEvent(task, "TASK_STATE_FAILED", now, message);
    return { record: recordAfter(record, event, now), event };
  }

  async #prepare(
    params: SendParams,
    call: Context,
    push: PushConfig | undefined,
  ): Promise<TaskRun> {
    const owner = ownerOf(call, params.tenant);
    const { taskId } = params.message;
    const first =
      taskId === undefined
        ? this.#newRecord(params, owner)
        : this.#continued(params.message, await this.find(taskId, owner));
    const share = call.principal === undefined ? undefined : owner;
    return new TaskRun(this, this.#table.admit(withConfig(first, push), share));
  }

  #drive(run: TaskRun, params: SendParams, call: Context): void {
    const { message, configuration, tenant, metadata = {} } = params;
    const { task } = run.work.first.body;
    const received = { ...message, contextId: task.contextId };
    const handed: AgentTask = {
      id: task.id,
      contextId: task.contextId,
      history: task.history ?? [],
      artifacts: task.artifacts ?? [],
      get signal() {
        return run.work.signal;
      },
      principal: call.principal,
      tenant,
      extensions: declaredExtensions(call),
      acceptedOutputModes: configuration?.acceptedOutputModes ?? [],
      metadata,
      log: call.log,
    };
    void run.drive(() => this.#settings.execute({ ...received, text: textOf(message) }, handed));
  }

  #newRecord({ message, metadata }: SendParams, owner: string): TaskRecord {
    const now = this.clock.now();
    const id = crypto.randomUUID();
    const { contextId = crypto.randomUUID() } = message;
    const task: Task = {
      id,
      contextId,
      status: { state: "TASK_STATE_SUBMITTED", timestamp: isoTime(now) },
      history: [{ ...message, contextId, taskId: id }],
      ...(metadata !== undefined && { metadata }),
    };
    return firstRecord(task, owner, now);
  }

  /** The task with the client's next message. */
  #continued(message: Message, record: TaskRecord): TaskRecord {
    const { task } = record.body;
    const { id, contextId } = task;
    if (message.contextId !== undefined && message.contextId !== contextId)
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
    return withTask(record, continued, added, now);
  }
}

function withConfig(record: TaskRecord, config: PushConfig | undefined): TaskRecord {
  if (config === undefined) return record;
  const others = record.body.push.filter(({ id }) => id !== config.id);
  return withPush(record, [...others, { ...config, taskId: record.id }]);
}

/** Tasks belong to the principal of their tenant; without authentication, to everyone who knows the id. */
export function ownerOf(call: Context, tenant: string | undefined): string {
  return JSON.stringify([tenant ?? "", call.principal?.id ?? null]);
}

/** The extensions that the client declared in `A2A-Extensions`. */
export function declaredExtensions(call: Context): readonly string[] {
  const header =
    call.transport.headers["a2a-extensions"] ?? call.transport.headers["x-a2a-extensions"];
  const text = Array.isArray(header) ? header.join(",") : String(header ?? "");
  return text
    .split(",")
    .map((uri) => uri.trim())
    .filter((uri) => uri !== "");
}

function notCancelable(id: string): RpcError {
  return a2aError("TaskNotCancelable", "The task is over", { taskId: id });
}
