import type { CallContext } from "../../protocol/context.ts";
import { membersOf } from "../../protocol/envelope.ts";
import {
  andThen,
  type ErrorObject,
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
} from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import { invalidParams, methodNotFound } from "../../protocol/standard-errors.ts";
import { errorOf, invalidArguments, McpError } from "../errors.ts";
import { type Meta, MetaKey } from "../meta-keys.ts";
import { legacyTaskOf, taskOf } from "../task-record.ts";
import type { Catalog } from "./catalog.ts";
import { FeatureCall } from "./feature-call.ts";
import { shown } from "./feature-operations.ts";
import type { HandlerRounds, Target } from "./handler-rounds.ts";
import type { Caller, Operation, OperationParams } from "./operation.ts";
import { takesTasks, tasksMissing } from "./task-operations.ts";
import type { TaskRun, Tasks } from "./tasks.ts";
import type { ToolFeature } from "./tool-feature.ts";
import { errorResult, isProtocolError, itemsOf } from "./tool-result.ts";

/** `tools/call`: runs the method behind a tool, at once or as a task. */
export function toolCalls(catalog: Catalog, rounds: HandlerRounds, tasks: Tasks): Operation {
  const startTask = (
    tool: ToolFeature,
    run: (call: FeatureCall) => MaybePromise<object>,
    params: OperationParams,
    context: CallContext,
    caller: Caller,
  ): MaybePromise<TaskRun> => {
    const { ttl } = membersOf(params.task);
    /** The call has its own signal, and outlives its request. */
    const work = (started: TaskRun): MaybePromise<object> => {
      const detached = {
        signal: started.task.signal,
        // A getter, because over HTTP the client may start to listen later or again.
        get peer() {
          return caller.session?.peer;
        },
        // Legacy messages of a task name it.
        meta: { [MetaKey.RelatedTask]: { taskId: started.task.id } },
      };
      const meta = params._meta as Meta | undefined;
      const call = new FeatureCall(context, tool.method, caller, meta, detached);
      call.requester = started;
      return run(call);
    };
    return tasks.start(work, context, caller, ttl, params);
  };

  return (params, context, caller) => {
    const { name, arguments: args } = params;
    const tool = catalog.tools.get(name as string);
    if (tool === undefined) throw unknownTool(name);
    if (args !== undefined && !isRecord(args))
      throw invalidArguments('"arguments" must be an object');
    const fault = tool.faultOf?.(args ?? {});
    if (fault !== undefined) {
      // The message names arguments, which a caller that may not see the tool must not learn.
      if (!tool.visible(context)) throw unknownTool(name);
      return toolResult(tool, failure(invalidParams(fault)), context);
    }
    const target: Target = {
      method: tool.method,
      params: tool.paramsOf(args),
      dispatch: tool.streams ? itemsOf(tool.dispatch) : tool.dispatch,
      finish: (reply) => toolResult(tool, reply, context),
    };
    const asTask = tool.visible(context) && mayBeTask(tool, params, caller);
    if (!asTask) return rounds.run(target, params, context, caller);
    if (!tool.beginsTask) {
      const run = async (call: FeatureCall): Promise<object> => {
        const request = { jsonrpc: "2.0", method: target.method, params: target.params } as const;
        return target.finish(
          (await target.dispatch({ ...request, id: context.id }, call)) as Reply,
        );
      };
      const started = startTask(tool, run, params, context, caller);
      return andThen(started, (task) => created(task, caller));
    }
    let started: MaybePromise<TaskRun> | undefined;
    const finish = (reply: Reply): MaybePromise<object> =>
      started === undefined
        ? target.finish(reply)
        : andThen(started, (task) => created(task, caller));
    return rounds.run({ ...target, finish }, params, context, caller, (call) => {
      const beginTask: FeatureCall["beginTask"] = (run) => {
        const work = async (inner: FeatureCall): Promise<object> => tool.result(await run(inner));
        started = startTask(tool, work, params, context, caller);
        // The handler may fail before the reply waits for the task.
        if (isThenable(started)) void started.then(undefined, () => {});
      };
      call.beginTask = beginTask;
    });
  };
}

function unknownTool(name: unknown): McpError {
  return invalidArguments(`there is no tool ${shown(name)}`);
}

/**
 * Whether the method does not exist for this caller. An `Error` was thrown by a handler and is about
 * something else.
 */
function isHidden(error: ErrorObject): boolean {
  return error.code === methodNotFound.code && !(error instanceof Error);
}

/** The result of a tool for the reply of its method. */
function toolResult(tool: ToolFeature, reply: Reply, context: CallContext): MaybePromise<object> {
  const { error } = reply;
  if (error !== undefined) {
    if (isProtocolError(error)) throw errorOf(error);
    if (isHidden(error)) throw unknownTool(tool.name);
    return errorResult(error);
  }
  try {
    const result = tool.result(reply.result);
    return isThenable(result)
      ? result.then(undefined, (failed) => unfit(failed, tool, context))
      : result;
  } catch (failed) {
    return unfit(failed, tool, context);
  }
}

function unfit(failed: unknown, { method }: ToolFeature, context: CallContext): object {
  context.log.error(
    { err: failed, method },
    "a tool returned a result that does not match its output schema",
  );
  return errorResult({ code: -32603, message: "Internal error" });
}

/** Whether this call runs as a task; throws if the tool and the caller disagree. */
function mayBeTask(tool: ToolFeature, params: OperationParams, caller: Caller): boolean {
  const { taskSupport } = tool;
  if (caller.session === undefined) {
    if (taskSupport === "forbidden") return false;
    if (takesTasks(caller)) return true;
    if (taskSupport === "required") throw tasksMissing();
    return false;
  }
  // In earlier revisions `task` has no meaning.
  const asked = params.task !== undefined && caller.revision === "2025-11-25";
  if (asked && taskSupport === "forbidden") {
    throw new McpError(-32601, `the tool ${tool.name} cannot run as a task`);
  }
  if (!asked && taskSupport === "required" && caller.revision === "2025-11-25") {
    throw new McpError(-32601, `the tool ${tool.name} can only run as a task`);
  }
  return asked;
}

function created(task: TaskRun, caller: Caller): object {
  return caller.session === undefined
    ? { resultType: "task", ...taskOf(task.record) }
    : { task: legacyTaskOf(task.record) };
}
