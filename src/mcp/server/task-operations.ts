import type { CallContext } from "../../protocol/context.ts";
import { methodNotFound } from "../../protocol/errors.ts";
import { isRecord } from "../../protocol/record.ts";
import { errorOf, invalidArguments, type McpError, missingCapability } from "../errors.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import { pageOf } from "./list-operations.ts";
import type { Caller, Operation } from "./operation.ts";
import type { TaskRun, Tasks } from "./tasks.ts";

/** Whether a modern client supports tasks. */
export function takesTasks({ capabilities }: Caller): boolean {
  return capabilities.extensions?.[tasksExtension] !== undefined;
}

export const tasksMissing = (): McpError =>
  missingCapability({ extensions: { [tasksExtension]: {} } });

/** `tasks/*` of the extension. */
export function taskOperations(tasks: Tasks): [string, Operation][] {
  const declared =
    (operation: Operation): Operation =>
    (params, context, caller) => {
      if (!takesTasks(caller)) throw tasksMissing();
      return operation(params, context, caller);
    };
  const get: Operation = ({ taskId }, context, caller) =>
    tasks.find(taskId, context, caller).asTaskResult;
  const update: Operation = ({ taskId, inputResponses }, context, caller) => {
    const task = tasks.find(taskId, context, caller);
    if (!isRecord(inputResponses)) throw invalidArguments('"inputResponses" must be an object');
    task.update(inputResponses);
    return {};
  };
  const cancel: Operation = ({ taskId }, context, caller) => {
    tasks.find(taskId, context, caller).work.cancel();
    return {};
  };
  return [
    ["tasks/get", declared(get)],
    ["tasks/update", declared(update)],
    ["tasks/cancel", declared(cancel)],
  ];
}

/** Waits for the end of a task, and sends its questions to the client that waits. */
function outcome(task: TaskRun, { peer, signal }: CallContext): Promise<object> {
  const { work } = task;
  const _meta = { [MetaKey.RelatedTask]: { taskId: work.id } };
  const asked = new Set<string>();
  return work.outcome(signal, () => {
    for (const [key, { method, params }] of Object.entries(task.inputRequests)) {
      if (asked.has(key)) continue;
      asked.add(key);
      peer.call(method, { ...params, _meta }, { signal }).then(
        (answer) => task.update({ [key]: answer }),
        (error: Error) => {
          // A client that only stopped waiting may come back, and is asked again.
          if (!signal.aborted) task.refuse(key, error);
        },
      );
    }
  });
}

/** `tasks/*` of 2025-11-25. */
export function legacyTaskOperations(tasks: Tasks, pageSize: number): [string, Operation][] {
  const get: Operation = ({ taskId }, context, caller) =>
    tasks.find(taskId, context, caller).work.asLegacyTask;
  const result: Operation = ({ taskId }, context, caller) => {
    const task = tasks.find(taskId, context, caller);
    context.limit(Number.POSITIVE_INFINITY);
    return outcome(task, context);
  };
  const list: Operation = ({ cursor }, context, caller) => {
    const all = tasks.list(context, caller).map(({ work }) => work.asLegacyTask);
    const { items, ...rest } = pageOf(all, cursor, pageSize);
    return { tasks: items, ...rest };
  };
  const cancel: Operation = ({ taskId }, context, caller) => {
    const { work } = tasks.find(taskId, context, caller);
    if (!work.cancel()) throw invalidArguments(`the task is already ${work.status}`);
    return work.asLegacyTask;
  };
  const known =
    (operation: Operation): Operation =>
    (params, context, caller) => {
      if (caller.revision !== "2025-11-25") throw errorOf(methodNotFound);
      return operation(params, context, caller);
    };
  return [
    ["tasks/get", known(get)],
    ["tasks/result", known(result)],
    ["tasks/list", known(list)],
    ["tasks/cancel", known(cancel)],
  ];
}
