import type { CallOptions } from "../../client/outgoing-call.ts";
import { RemoteError } from "../../protocol/errors.ts";
import { badReply } from "../../protocol/pair.ts";
import { reportedAs } from "../../protocol/retry-rule.ts";
import { requestCancelled } from "../../protocol/standard-errors.ts";
import { pause } from "../../protocol/waiting.ts";
import { McpError } from "../errors.ts";
import type { ToolResult } from "../results.ts";
import { isOver, type LegacyTask, type Task, type TaskResult } from "../task.ts";
import type { Answering } from "./input.ts";
import type { ProtocolClient } from "./protocol-client.ts";
import { answersTo } from "./request-rounds.ts";
import { checkedShape, taskResult, toolResult } from "./result-shapes.ts";
import { cancelSignal } from "./waiting.ts";

/** Polling interval: the default, and the bounds for what the server asks for. */
const usualPollMs = 1_000;
const leastPollMs = 20;
const mostPollMs = 60_000;

/** A task that runs on the server, in either era. */
export class McpTask {
  readonly id: string;
  readonly #protocol: ProtocolClient;
  readonly #legacy: boolean;
  readonly #input: Answering | undefined;
  #latest: Task;

  /** `input` answers the questions of the task. @default that of the client */
  constructor(protocol: ProtocolClient, task: Task | LegacyTask, input?: Answering) {
    this.#input = input;
    this.id = task.taskId;
    this.#protocol = protocol;
    this.#legacy = protocol.server?.era === "legacy";
    this.#latest = inOneForm(task);
  }

  /** The last known state. */
  get latest(): Task {
    return this.#latest;
  }

  /** Asks the server for the current state. */
  async status(options: { readonly signal?: AbortSignal } = {}): Promise<TaskResult> {
    const { signal } = options;
    const task = await fetchTask(this.#protocol, this.id, { signal });
    this.#latest = inOneForm(task);
    return { ...task, ...this.#latest };
  }

  /** Waits until the task is over, and answers the server's questions in the meantime. */
  async result(options: { readonly signal?: AbortSignal } = {}): Promise<ToolResult> {
    try {
      return await this.#result(options);
    } catch (error) {
      // The tool runs, even if the last question about it did not reach the server.
      throw reportedAs("CONNECTION_LOST", error);
    }
  }

  async #result(options: { readonly signal?: AbortSignal }): Promise<ToolResult> {
    if (this.#latest.status === "cancelled") throw cancelled();
    if (this.#legacy) {
      // The server replies only when the task is over.
      const lasting = { signal: options.signal, timeoutMs: Number.POSITIVE_INFINITY };
      const params = { taskId: this.id };
      const result = await this.#protocol.request("tasks/result", params, lasting);
      return toolResult("tasks/result", result);
    }
    const answered = new Set<string>();
    for (;;) {
      const task = await this.status(options);
      if (task.status === "completed") return toolResult("the task", task.result);
      if (task.status === "cancelled") throw cancelled();
      if (isOver(task.status)) {
        throw task.error
          ? RemoteError.from(task.error)
          : badReply("the task failed, and the server sent no error");
      }
      if (task.status === "input_required") await this.#answer(task, answered, options.signal);
      const { clock } = this.#protocol;
      await pause(pollMs(task), clock, cancelSignal(this.#protocol, options.signal));
    }
  }

  /** Asks the server to stop it. */
  async cancel(): Promise<void> {
    await this.#protocol.request("tasks/cancel", { taskId: this.id });
  }

  /** Answers each question once; the server may still list it until it has processed the answer. */
  async #answer(
    { inputRequests }: TaskResult,
    answered: Set<string>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const open = Object.entries(inputRequests ?? {}).filter(([key]) => !answered.has(key));
    if (open.length === 0) return;
    for (const [key] of open) answered.add(key);
    const inputResponses = await answersTo(
      Object.fromEntries(open),
      this.#protocol,
      signal,
      this.#input,
    );
    await this.#protocol.request("tasks/update", { taskId: this.id, inputResponses }, { signal });
  }
}

/** The state of a task, in the form of the server's era. */
export async function fetchTask(
  protocol: ProtocolClient,
  id: string,
  options?: CallOptions,
): Promise<TaskResult & LegacyTask> {
  const method = "tasks/get";
  const task = await protocol.request<TaskResult & LegacyTask>(method, { taskId: id }, options);
  return checkedShape(method, task, taskResult);
}

function pollMs({ pollIntervalMs: wanted = usualPollMs }: Task): number {
  return Number.isFinite(wanted)
    ? Math.min(Math.max(wanted, leastPollMs), mostPollMs)
    : usualPollMs;
}

function cancelled(): McpError {
  return new McpError(requestCancelled.code, "the task was cancelled");
}

/** 2025-11-25 has other names for two members. */
function inOneForm(task: Task | LegacyTask): Task {
  if (!("ttl" in task)) return task;
  const { ttl, pollInterval, ...rest } = task;
  return {
    ...rest,
    ttlMs: ttl,
    ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }),
  };
}
