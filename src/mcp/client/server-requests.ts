import { type Clock, systemClock } from "../../protocol/clock.ts";
import type { Context } from "../../protocol/context.ts";
import { Host } from "../../protocol/host.ts";
import type { Log } from "../../protocol/log.ts";
import { andThen, failure, type MaybePromise, success } from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import type { InputRequest } from "../client-input.ts";
import { invalidArguments } from "../errors.ts";
import { mcpProfile } from "../notices.ts";
import { legacyTaskOf } from "../task-record.ts";
import { TaskTable } from "../task-table.ts";
import type { Answering } from "./input.ts";

/** Most tasks kept for one server; stops memory exhaustion. */
const mostTasks = 100;

/** All tasks are those of the server that the client is connected to. */
const owner = "";

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
  const tasks = new TaskTable(clock, log, { maxTasks: mostTasks });

  /** A server of 2025-11-25 may ask for a task, which it gets at once, and fetch the answer later. */
  const startTask = ({ method, params }: InputRequest): MaybePromise<object> => {
    const { task, ...asked } = params as Params & { readonly task: { readonly ttl?: unknown } };
    const request = { method, params: asked } as unknown as InputRequest;
    const started = tasks.start(owner, task.ttl, undefined, ({ signal }) =>
      input.answer(request, { signal }),
    );
    return andThen(started, ({ record, first }) => ({ task: legacyTaskOf(record ?? first) }));
  };
  /** Answers `tasks/*`; undefined for other methods. */
  const answerAboutTask = (
    method: string,
    params: Params,
    context: Context,
  ): MaybePromise<object> | undefined => {
    switch (method) {
      case "tasks/get":
        return andThen(tasks.find(params.taskId, owner), legacyTaskOf);
      case "tasks/result":
        return tasks.outcome(params.taskId, owner, context.signal);
      case "tasks/cancel":
        return tasks.cancel(params.taskId, owner).then(({ record, wasOver }) => {
          if (wasOver) throw invalidArguments(`the task is already ${record.state}`);
          return legacyTaskOf(record);
        });
      case "tasks/list":
        // One page holds them all, so that no cursor is ever issued.
        if (params.cursor !== undefined) throw invalidArguments('"cursor" is not known');
        return tasks.list(owner).then((all) => ({ tasks: all.map(legacyTaskOf) }));
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
        return asTask
          ? andThen(startTask(asked), success)
          : input.answer(asked, context).then(success);
      }
      const about = answerAboutTask(method, params, context);
      if (about === undefined) return failure(methodNotFound);
      return andThen(about, success);
    },
    // 2025-03-26 has batches, and people need time to answer.
    { profile: mcpProfile(() => true), timeoutMs: Number.POSITIVE_INFINITY, log, clock },
  );
  return { host, end: () => tasks.end() };
}
