import type { Context } from "../protocol/context.ts";
import { andThen, isThenable, type MaybePromise } from "../protocol/message.ts";
import { LateError, withTimeout } from "../protocol/waiting.ts";
import { type AgentTasks, ownerOf } from "./agent-tasks.ts";
import type { AgentCard } from "./card.ts";
import { a2aError, invalidField } from "./errors.ts";
import { declaredExtensions } from "./handed-task.ts";
import { isLegacy } from "./legacy.ts";
import type {
  ListTasksParams,
  ListTasksResult,
  Part,
  PushConfig,
  SendParams,
  SendResult,
  StreamResponse,
  Task,
} from "./model.ts";
import type { PushReference, TaskReference } from "./params-check.ts";
import type { PushSender } from "./push-sender.ts";
import { type TaskPush, type TaskRecord, withPush } from "./task-record.ts";
import type { TaskRun } from "./task-run.ts";

export interface OperationSettings {
  readonly tasks: AgentTasks;
  readonly card: Omit<AgentCard, "supportedInterfaces">;
  readonly push: PushSender | undefined;
  /** The extended card, for authenticated callers. */
  readonly extendedCard: ((call: Context) => AgentCard | Promise<AgentCard>) | undefined;
  /** How long `SendMessage` waits for a task to be done. */
  readonly blockMs: number;
}

/** Most webhooks of one task. */
const maxPushConfigs = 10;

/** The operations of A2A, with params that were checked and in the form of 1.0. */
export class Operations {
  readonly #settings: OperationSettings;

  constructor(settings: OperationSettings) {
    this.#settings = settings;
  }

  /** Answers with the task when it is done or waits for input, or as it is if the client does not want to wait. */
  async send(params: SendParams, call: Context): Promise<SendResult> {
    const { tasks } = this.#settings;
    const { historyLength, returnImmediately = false } = params.configuration ?? {};
    const starting = andThen(this.#accept(params, call), (push) => tasks.start(params, call, push));
    const run = isThenable(starting) ? await starting : starting;
    const result = await (returnImmediately ? this.#unfinished(run) : this.#finished(run));
    return "task" in result ? { task: withHistory(result.task, historyLength) } : result;
  }

  /** All events of a message, from the task that it becomes to its end. */
  stream(params: SendParams, call: Context): MaybePromise<AsyncIterable<StreamResponse>> {
    this.#needStreaming();
    return andThen(this.#accept(params, call), (push) =>
      this.#settings.tasks.startStream(params, call, push),
    );
  }

  subscribe({ id, tenant }: TaskReference, call: Context): Promise<AsyncIterable<StreamResponse>> {
    this.#needStreaming();
    return this.#settings.tasks.subscribe(id, ownerOf(call, tenant));
  }

  async get({ id, historyLength, tenant }: TaskReference, call: Context): Promise<Task> {
    const { body } = await this.#settings.tasks.find(id, ownerOf(call, tenant));
    return withHistory(body.task, historyLength);
  }

  cancel({ id, tenant }: TaskReference, call: Context): Promise<Task> {
    return this.#settings.tasks.cancel(id, ownerOf(call, tenant));
  }

  async list(params: ListTasksParams, call: Context): Promise<ListTasksResult> {
    const {
      contextId,
      pageSize = 50,
      pageToken = "",
      historyLength = 0,
      statusTimestampAfter,
    } = params;
    const state =
      (params.status as string) === "TASK_STATE_UNSPECIFIED" ? undefined : params.status;
    const { records, total } = await this.#settings.tasks.list({
      owner: ownerOf(call, params.tenant),
      group: contextId === "" ? undefined : contextId,
      state,
      changedSince:
        statusTimestampAfter === undefined ? undefined : Date.parse(statusTimestampAfter),
      after: pageToken === "" ? undefined : placeOf(pageToken),
      limit: pageSize + 1,
    });
    const page = records.slice(0, pageSize);
    const last = records.length > pageSize ? page.at(-1) : undefined;
    return {
      tasks: page.map(({ body: { task } }) => {
        const { artifacts, ...rest } = withHistory(task, historyLength);
        return params.includeArtifacts === true && artifacts !== undefined
          ? { ...rest, artifacts }
          : rest;
      }),
      nextPageToken: last === undefined ? "" : btoa(`${last.changedAt} ${last.id}`),
      pageSize,
      totalSize: total,
    };
  }

  async createPush(
    given: Omit<PushConfig, "id"> & { id?: string },
    call: Context,
  ): Promise<PushConfig> {
    const { tasks } = this.#settings;
    const added = await this.#taskPush(given, given.taskId, call);
    const { config } = added;
    await tasks.change(config.taskId, ownerOf(call, given.tenant), (record) => {
      const others = record.body.push.filter((each) => each.config.id !== config.id);
      const push = [...others, added];
      if (push.length > maxPushConfigs)
        throw a2aError(
          "UnsupportedOperation",
          `A task can have ${maxPushConfigs} webhooks at most`,
        );
      return { record: nextWithPush(record, push) };
    });
    return config;
  }

  async getPush({ taskId, id, tenant }: PushReference, call: Context): Promise<PushConfig> {
    const configs = await this.#pushConfigs(taskId, tenant, call);
    const config = configs.find((each) => each.id === id);
    if (config === undefined)
      throw a2aError("TaskNotFound", "There is no such push notification config", { taskId, id });
    return config;
  }

  async listPush(
    { taskId, tenant }: { readonly taskId: string; readonly tenant?: string },
    call: Context,
  ): Promise<{ configs: readonly PushConfig[]; nextPageToken: string }> {
    return { configs: await this.#pushConfigs(taskId, tenant, call), nextPageToken: "" };
  }

  async deletePush({ taskId, id, tenant }: PushReference, call: Context): Promise<object> {
    const configs = await this.#pushConfigs(taskId, tenant, call);
    if (configs.some((each) => each.id === id)) {
      await this.#settings.tasks.change(taskId, ownerOf(call, tenant), (record) => {
        const rest = record.body.push.filter(({ config }) => config.id !== id);
        return { record: nextWithPush(record, rest) };
      });
    }
    return {};
  }

  async extendedCard(call: Context): Promise<AgentCard> {
    const { extendedCard } = this.#settings;
    if (extendedCard === undefined)
      throw a2aError("UnsupportedOperation", "This agent has no extended card");
    const card = await extendedCard(call);
    if (card === undefined)
      throw a2aError("ExtendedAgentCardNotConfigured", "There is no extended card for this caller");
    return card;
  }

  /** The answer, or the task as it is if that takes too long. */
  async #finished(run: TaskRun): Promise<SendResult> {
    const { tasks, blockMs } = this.#settings;
    try {
      return await withTimeout(tasks.clock, blockMs, run.outcome, "the task goes on");
    } catch (error) {
      if (error instanceof LateError) return this.#unfinished(run);
      throw error;
    }
  }

  /** The task as it is, for a client that waits no longer. */
  async #unfinished(run: TaskRun): Promise<SendResult> {
    // Nothing waits for the outcome any more.
    run.outcome.catch(() => {});
    if (!run.work.isOver) await run.begin();
    return run.task !== undefined && !run.work.isOver ? { task: run.task } : run.outcome;
  }

  /** Refuses a message that the agent cannot take, and gives its webhook, if it names one. */
  #accept(params: SendParams, call: Context): MaybePromise<TaskPush | undefined> {
    const { card } = this.#settings;
    for (const { uri, required = false } of card.capabilities.extensions ?? []) {
      if (required && !declaredExtensions(call).includes(uri))
        throw a2aError("ExtensionSupportRequired", "The client must declare an extension", { uri });
    }
    for (const part of params.message.parts) checkMediaType(part, card);
    const config = params.configuration?.taskPushNotificationConfig;
    return config === undefined ? undefined : this.#taskPush(config, "", call);
  }

  async #taskPush(
    given: Omit<PushConfig, "taskId" | "id"> & { id?: string },
    taskId: string,
    call: Context,
  ): Promise<TaskPush> {
    const refusal = await this.#needPush().refusal(given.url);
    if (refusal !== undefined) throw invalidField("url", refusal);
    const config = { ...given, taskId, id: given.id || crypto.randomUUID() };
    return { config, isLegacy: isLegacy(call.method) };
  }

  async #pushConfigs(
    taskId: string,
    tenant: string | undefined,
    call: Context,
  ): Promise<readonly PushConfig[]> {
    this.#needPush();
    const { body } = await this.#settings.tasks.find(taskId, ownerOf(call, tenant));
    return body.push.map(({ config }) => config);
  }

  #needPush(): PushSender {
    const { push } = this.#settings;
    if (push === undefined)
      throw a2aError("PushNotificationNotSupported", "This agent sends no push notifications");
    return push;
  }

  #needStreaming(): void {
    if (this.#settings.card.capabilities.streaming !== true)
      throw a2aError("UnsupportedOperation", "This agent does not stream");
  }
}

function checkMediaType(
  { mediaType }: Part,
  { defaultInputModes, skills }: OperationSettings["card"],
): void {
  if (mediaType === undefined || mediaType === "") return;
  const accepted = [...defaultInputModes, ...skills.flatMap(({ inputModes = [] }) => inputModes)];
  const [type = ""] = mediaType.toLowerCase().split(";");
  const [group = ""] = type.split("/");
  const takes = (mode: string): boolean =>
    mode === "*" || mode === "*/*" || mode === `${group}/*` || mode.toLowerCase() === type.trim();
  if (!accepted.some(takes))
    throw a2aError("ContentTypeNotSupported", "The agent does not take this media type", {
      mediaType,
    });
}

/** The task with the last messages of its history; unset gives all, and 0 none. */
function withHistory(task: Task, length: number | undefined): Task {
  if (length === undefined || task.history === undefined) return task;
  const { history, ...rest } = task;
  return length === 0 ? rest : { ...rest, history: history.slice(-length) };
}

function nextWithPush(record: TaskRecord, push: readonly TaskPush[]): TaskRecord {
  return { ...withPush(record, push), version: record.version + 1 };
}

/** Where the next page begins, from the token of the page before. */
function placeOf(token: string): { readonly changedAt: number; readonly id: string } {
  let text: string;
  try {
    text = atob(token);
  } catch {
    text = "";
  }
  const [, changedAt, id] = /^(\d{1,15}) ([\w-]+)$/.exec(text) ?? [];
  if (changedAt === undefined || id === undefined)
    throw invalidField("pageToken", "must be that of an earlier page");
  return { changedAt: Number(changedAt), id };
}
