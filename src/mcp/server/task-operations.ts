import type { CallContext } from "../../protocol/context.ts";
import { andThen } from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import type { InputRequest } from "../client-input.ts";
import { errorOf, invalidArguments, type McpError, missingCapability } from "../errors.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import { legacyTaskOf, type TaskAnswer, taskResultOf } from "../task-record.ts";
import { pageOf } from "./list-operations.ts";
import type { Caller, Operation } from "./operation.ts";
import { refusedAnswer, type Tasks } from "./tasks.ts";

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
    andThen(tasks.find(taskId, context, caller), taskResultOf);
  const update: Operation = async ({ taskId, inputResponses }, context, caller) => {
    await tasks.find(taskId, context, caller);
    if (!isRecord(inputResponses)) throw invalidArguments('"inputResponses" must be an object');
    const answers = Object.entries(inputResponses).map(([key, value]) => [key, { value }] as const);
    await tasks.answer(taskId, Object.fromEntries(answers), context, caller);
    return {};
  };
  const cancel: Operation = async ({ taskId }, context, caller) => {
    await tasks.cancel(taskId, context, caller);
    return {};
  };
  return [
    ["tasks/get", declared(get)],
    ["tasks/update", declared(update)],
    ["tasks/cancel", declared(cancel)],
  ];
}

/** Waits for the end of a task, and sends its questions to the client that waits. */
function outcome(
  tasks: Tasks,
  taskId: unknown,
  context: CallContext,
  caller: Caller,
): Promise<object> {
  const { peer, signal, log } = context;
  const _meta = { [MetaKey.RelatedTask]: { taskId } };
  const asked = new Set<string>();
  const ask = async (key: string, { method, params }: InputRequest): Promise<void> => {
    let answer: TaskAnswer;
    try {
      answer = { value: await peer.call(method, { ...params, _meta }, { signal }) };
    } catch (error) {
      // A client that only stopped waiting may come back, and is asked again.
      if (signal.aborted) return;
      answer = refusedAnswer(error as Error);
    }
    await tasks.answer(taskId, { [key]: answer }, context, caller);
  };
  return tasks.outcome(taskId, context, caller, (questions) => {
    for (const [key, request] of Object.entries(questions)) {
      if (asked.has(key)) continue;
      asked.add(key);
      ask(key, request).catch((error: unknown) => {
        log.warn({ err: error, task: taskId }, "could not store the answer to a task");
      });
    }
  });
}

/** `tasks/*` of 2025-11-25. */
export function legacyTaskOperations(tasks: Tasks, pageSize: number): [string, Operation][] {
  const get: Operation = ({ taskId }, context, caller) =>
    andThen(tasks.find(taskId, context, caller), legacyTaskOf);
  const result: Operation = async ({ taskId }, context, caller) => {
    await tasks.find(taskId, context, caller);
    context.limit(Number.POSITIVE_INFINITY);
    return outcome(tasks, taskId, context, caller);
  };
  const list: Operation = async ({ cursor }, context, caller) => {
    const all = (await tasks.list(context, caller)).map(legacyTaskOf);
    const { items, ...rest } = pageOf(all, cursor, pageSize);
    return { tasks: items, ...rest };
  };
  const cancel: Operation = async ({ taskId }, context, caller) => {
    const { record, wasOver } = await tasks.cancel(taskId, context, caller);
    if (wasOver) throw invalidArguments(`the task is already ${record.state}`);
    return legacyTaskOf(record);
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
