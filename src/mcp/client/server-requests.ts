import { type Clock, systemClock } from "../../protocol/clock.ts";
import type { Context } from "../../protocol/context.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import { Host } from "../../protocol/host.ts";
import type { Log } from "../../protocol/log.ts";
import { failure, isThenable, type MaybePromise, success } from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import type { InputRequest } from "../client-input.ts";
import { invalidArguments } from "../errors.ts";
import { mcpProfile } from "../notices.ts";
import { TaskTable } from "../task-table.ts";
import { runTask, TaskWork } from "../task-work.ts";
import type { Answering } from "./input.ts";

/** Most tasks kept for one server; stops memory exhaustion. */
const mostTasks = 100;

type Params = Readonly<Record<string, unknown>>;

const inputMethods: readonly string[] = [
  "elicitation/create",
  "sampling/createMessage",
  "roots/list",
];

/** Answers requests of legacy servers, and passes on notifications of all servers; `end` cancels the tasks. */
export function serverRequests(
  input: Answering,
  notified: (method: string, params: Params) => void,
  log: Log,
  clock: Clock = systemClock,
): { readonly host: Host; end(): void } {
  const tasks = new TaskTable<{ readonly work: TaskWork }>(clock, { maxTasks: mostTasks });

  /** A server of 2025-11-25 may ask for a task, which it gets at once, and fetch the answer later. */
  const startTask = ({ method, params }: InputRequest): object => {
    const { task, ...asked } = params as Params & { readonly task: { readonly ttl?: unknown } };
    const request = { method, params: asked } as unknown as InputRequest;
    const make = (ttlMs: number) => ({ work: new TaskWork(ttlMs, () => clock.now()) });
    const { work } = tasks.begin(task.ttl, make, ({ work }) => {
      const { signal } = work.controller;
      return runTask(work, () => input.answer(request, { signal }), log);
    });
    return { task: work.asLegacyTask };
  };
  const find = ({ taskId }: Params): TaskWork => {
    const found = tasks.find(taskId);
    if (found === undefined) throw invalidArguments("there is no such task");
    return found.work;
  };
  /** Answers `tasks/*`; undefined for other methods. */
  const answerAboutTask = (
    method: string,
    params: Params,
    context: Context,
  ): MaybePromise<object> | undefined => {
    switch (method) {
      case "tasks/get":
        return find(params).asLegacyTask;
      case "tasks/result":
        return find(params).outcome(context.signal);
      case "tasks/cancel": {
        const work = find(params);
        if (!work.cancel()) throw invalidArguments(`the task is already ${work.status}`);
        return work.asLegacyTask;
      }
      case "tasks/list":
        // One page holds them all, so that no cursor is ever issued.
        if (params.cursor !== undefined) throw invalidArguments('"cursor" is not known');
        return { tasks: tasks.list().map(({ work }) => work.asLegacyTask) };
    }
    return undefined;
  };

  const host = new Host(
    (request, context) => {
      const { id, method } = request;
      const params = (request.params ?? {}) as Params;
      if (id === undefined) {
        notified(method, params);
        return undefined;
      }
      if (method === "ping") return success({});
      if (inputMethods.includes(method)) {
        const asked = { method, params } as unknown as InputRequest;
        const asTask = isRecord(params.task) && input.takesTasks(asked.method);
        return asTask ? success(startTask(asked)) : input.answer(asked, context).then(success);
      }
      const about = answerAboutTask(method, params, context);
      if (about === undefined) return failure(methodNotFound);
      return isThenable(about) ? about.then(success) : success(about);
    },
    // 2025-03-26 has batches, and people need time to answer.
    { profile: mcpProfile(() => true), timeoutMs: Number.POSITIVE_INFINITY, log, clock },
  );
  return { host, end: () => tasks.end() };
}
