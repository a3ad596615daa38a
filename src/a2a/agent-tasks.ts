import type { Clock, Timer } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { RpcError } from "../protocol/errors.ts";
import type { Log } from "../protocol/log.ts";
import type { MaybePromise } from "../protocol/message.ts";
import { agentMessage, statusEvent } from "./agent-update.ts";
import { a2aError, agentBusy, invalidField, taskNotFound } from "./errors.ts";
import type { AgentTask, Execute } from "./executor.ts";
import {
  isInterrupted,
  isTerminal,
  type Message,
  type PushConfig,
  type SendParams,
  type StreamResponse,
  type Task,
  textOf,
} from "./model.ts";
import type { PushSender } from "./push-sender.ts";
import { type Subscription, Subscriptions } from "./subscription.ts";
import { changesBetween } from "./task-change.ts";
import { type Amendment, type RunHost, recordAfter, TaskRun } from "./task-run.ts";
import type { TaskRecord, TaskStore } from "./task-store.ts";

export interface AgentTasksSettings {
  readonly execute: Execute;
  readonly store: TaskStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly maxRunning: number;
  readonly push: PushSender | undefined;
}

/** How long a process may be silent before the tasks that it works on count as abandoned. */
const leaseMs = 30_000;
/** How often to poll a shared store for a task that another process works on. */
const pollMs = 250;

/** Most attempts to store a change while other processes change the same task. */
const maxAttempts = 10;

/** The tasks of an agent: runs it, stores what it does, and publishes it to subscribers and webhooks. */
export class AgentTasks implements RunHost {
  readonly clock: Clock;
  readonly log: Log;
  readonly #settings: AgentTasksSettings;
  readonly #running = new Set<TaskRun>();
  readonly #byTask = new Map<string, TaskRun>();
  readonly #subscriptions = new Subscriptions();
  #renewal: Timer | undefined;

  constructor(settings: AgentTasksSettings) {
    this.clock = settings.clock;
    this.log = settings.log;
    this.#settings = settings;
  }

  /** Runs the agent on a message; `stream` also subscribes to all events. */
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
    const subscription = this.#subscriptions.add(run.id);
    this.#drive(run, params, call);
    // If the agent fails before there is a task, no event reports its error.
    run.outcome.catch((error: unknown) => subscription.fail(error));
    return subscription;
  }

  /** Throws if there is no such task, or it belongs to another caller. */
  async find(id: string, owner: string): Promise<TaskRecord> {
    const record = this.#byTask.get(id)?.record ?? (await this.#settings.store.load(id));
    if (record === undefined || record.owner !== owner) throw taskNotFound(id);
    return this.#isAbandoned(record) ? this.#failed(record) : record;
  }

  /** The task as it is, then its further events. */
  async subscribe(id: string, owner: string): Promise<Subscription> {
    const subscription = this.#subscriptions.add(id, true);
    try {
      const { task, version } = await this.find(id, owner);
      if (isTerminal(task.status.state))
        throw a2aError("UnsupportedOperation", "The task is over; get it instead", { taskId: id });
      if (this.#settings.store.isShared === true) void this.#follow(task, owner, subscription);
      return subscription.startFrom(version, task);
    } catch (error) {
      subscription.end();
      throw error;
    }
  }

  async cancel(id: string, owner: string): Promise<Task> {
    const { task } = await this.find(id, owner);
    const run = this.#byTask.get(id);
    if (run !== undefined) {
      const after = await run.cancel();
      if (after.status.state === "TASK_STATE_CANCELED") return after;
      throw notCancelable(id);
    }
    if (isTerminal(task.status.state)) throw notCancelable(id);
    const after = await this.change(id, owner, (record) => {
      if (isTerminal(record.task.status.state)) throw notCancelable(id);
      const now = this.clock.now();
      const event = statusEvent(record.task, "TASK_STATE_CANCELED", now);
      return { event, record: recordAfter(record, event, now) };
    });
    this.#subscriptions.end(id);
    return after.task;
  }

  /** Changes a task, whether the agent works on it or not. */
  async change(id: string, owner: string, make: Amendment): Promise<TaskRecord> {
    for (let attempt = 0; attempt < maxAttempts; attempt++) {
      const before = await this.find(id, owner);
      const amended = await this.#byTask.get(id)?.amend(make);
      if (amended !== undefined) return amended;
      if (this.#byTask.has(id)) continue;
      const { record, event } = make(before);
      if (!(await this.#settings.store.save(record))) continue;
      if (event !== undefined) this.publish(event, record);
      return record;
    }
    throw agentBusy();
  }

  /** Stops all agents that run, and ends all subscriptions. */
  close(): void {
    this.#renewal?.cancel();
    for (const run of this.#running) run.controller.abort();
    this.#subscriptions.endAll();
    this.#settings.push?.close();
  }

  /** Writes a step of a run of this process. */
  save(record: TaskRecord): MaybePromise<boolean> {
    const { store } = this.#settings;
    if (store.isShared !== true) return store.save(record);
    const leaseUntil = isActive(record) ? this.clock.now() + leaseMs : undefined;
    return store.save({ ...record, leaseUntil });
  }

  load(id: string): MaybePromise<TaskRecord | undefined> {
    return this.#settings.store.load(id);
  }

  publish(event: StreamResponse, { task, version, push }: TaskRecord): void {
    this.#subscriptions.publish(task.id, version, event);
    for (const config of push) this.#settings.push?.send(config, event);
  }

  began(run: TaskRun): void {
    this.#byTask.set(run.id, run);
    if (this.#settings.store.isShared === true) this.#renewal ??= this.#renewLater();
  }

  ended(run: TaskRun): void {
    this.#running.delete(run);
    if (this.#byTask.get(run.id) === run) this.#byTask.delete(run.id);
    this.#subscriptions.end(run.id);
  }

  /** Shows other processes that this one is alive. */
  #renewLater(): Timer {
    return this.clock.after(leaseMs / 3, () => {
      for (const run of this.#byTask.values()) {
        run
          .amend((record) => ({ record: { ...record, version: record.version + 1 } }))
          .catch((error: unknown) => {
            this.log.warn({ err: error, task: run.id }, "could not renew the lease of a task");
          });
      }
      this.#renewal = this.#byTask.size === 0 ? undefined : this.#renewLater();
    });
  }

  /** Whether the process that worked on a task has stopped without ending it. */
  #isAbandoned({ task, leaseUntil }: TaskRecord): boolean {
    return leaseUntil !== undefined && leaseUntil < this.clock.now() && !this.#byTask.has(task.id);
  }

  async #failed(record: TaskRecord): Promise<TaskRecord> {
    const { task } = record;
    const now = this.clock.now();
    const message = agentMessage("The process that worked on this task has stopped", task);
    const event = statusEvent(task, "TASK_STATE_FAILED", now, message);
    const after = { ...recordAfter(record, event, now), leaseUntil: undefined };
    if (await this.#settings.store.save(after)) {
      this.publish(event, after);
      return after;
    }
    return (await this.#settings.store.load(task.id)) ?? after;
  }

  /** Sends a subscriber the changes that other processes make to a task. */
  async #follow(task: Task, owner: string, subscription: Subscription): Promise<void> {
    let last = task;
    try {
      while (!subscription.isOver && !isTerminal(last.status.state)) {
        await new Promise<void>((resolve) => this.clock.after(pollMs, resolve));
        if (subscription.isOver) return;
        const { task: now, version } = await this.find(task.id, owner);
        subscription.push(version, ...changesBetween(last, now));
        last = now;
      }
      subscription.end();
    } catch (error) {
      subscription.fail(error);
    }
  }

  async #prepare(
    params: SendParams,
    call: Context,
    push: PushConfig | undefined,
  ): Promise<TaskRun> {
    if (this.#running.size >= this.#settings.maxRunning) throw agentBusy();
    const owner = ownerOf(call, params.tenant);
    const { taskId } = params.message;
    const first =
      taskId === undefined
        ? this.#newRecord(params, owner)
        : await this.#continued(params.message, await this.find(taskId, owner));
    const run = new TaskRun(this, withPush(first, push));
    this.#running.add(run);
    return run;
  }

  #drive(run: TaskRun, params: SendParams, call: Context): void {
    const { message, configuration, tenant, metadata = {} } = params;
    const { task } = run.first;
    const received = { ...message, contextId: task.contextId };
    const handed: AgentTask = {
      id: task.id,
      contextId: task.contextId,
      history: task.history ?? [],
      artifacts: task.artifacts ?? [],
      get signal() {
        return run.controller.signal;
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
      status: { state: "TASK_STATE_SUBMITTED", timestamp: new Date(now).toISOString() },
      history: [{ ...message, contextId, taskId: id }],
      ...(metadata !== undefined && { metadata }),
    };
    return {
      task,
      owner,
      version: 1,
      changedAt: now,
      push: [],
      characters: JSON.stringify(task).length,
    };
  }

  /** The task with the client's next message. */
  async #continued(message: Message, record: TaskRecord): Promise<TaskRecord> {
    const { task } = record;
    const { id, contextId } = task;
    if (message.contextId !== undefined && message.contextId !== contextId)
      throw invalidField("message.contextId", "is not that of the task");
    if (isTerminal(task.status.state))
      throw a2aError("UnsupportedOperation", "The task is over; send a message without it", {
        taskId: id,
      });
    if (this.#byTask.has(id))
      throw a2aError("UnsupportedOperation", "The task is working; wait until it asks for input", {
        taskId: id,
      });
    const now = this.clock.now();
    const added = { ...message, contextId };
    return {
      ...record,
      task: {
        ...task,
        status: { state: "TASK_STATE_WORKING", timestamp: new Date(now).toISOString() },
        history: [...(task.history ?? []), added],
      },
      version: record.version + 1,
      changedAt: now,
      characters: record.characters + JSON.stringify(added).length,
    };
  }
}

function isActive({ task }: TaskRecord): boolean {
  const { state } = task.status;
  return !isTerminal(state) && !isInterrupted(state);
}

function withPush(record: TaskRecord, config: PushConfig | undefined): TaskRecord {
  if (config === undefined) return record;
  const push = [
    ...record.push.filter(({ id }) => id !== config.id),
    { ...config, taskId: record.task.id },
  ];
  return { ...record, push };
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
