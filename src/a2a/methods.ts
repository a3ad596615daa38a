import type { Context } from "../protocol/context.ts";
import { ErrorCode, RpcError } from "../protocol/errors.ts";
import { isThenable, type MaybePromise } from "../protocol/message.ts";
import { type Methods, method, stream } from "../server/method.ts";
import { a2aError } from "./errors.ts";
import * as legacy from "./legacy.ts";
import { isInterrupted, isTerminal, type StreamResponse, type TaskState } from "./model.ts";
import type { Operations } from "./operations.ts";
import * as check from "./params-check.ts";

type Version = "1.0" | "0.3";

/** Refuses versions that the agent does not support, and methods that the version of the client does not have. */
function checkVersion({ transport }: Context, own: Version, supported: readonly Version[]): void {
  const header = transport.headers["a2a-version"];
  const named = header === undefined ? versionInQuery(transport.http?.target) : `${header}`.trim();
  const [, version = named || "0.3"] = /^(\d+\.\d+)\.\d+$/.exec(named) ?? [];
  const refused = [version, own].find((each) => !supported.some((one) => one === each));
  if (refused !== undefined) {
    const message = `This agent supports A2A ${supported.join(" and ")}`;
    throw a2aError("VersionNotSupported", message, { version: refused });
  }
  // Clients of 1.0 that name no version are understood by the name of the method.
  if (named !== "" && version !== own)
    throw new RpcError(ErrorCode.MethodNotFound, `A2A ${version} has no such method`);
}

/** Clients that cannot set headers name the version in the query of the address. */
function versionInQuery(target = ""): string {
  const query = target.indexOf("?");
  return query === -1 ? "" : (new URLSearchParams(target.slice(query)).get("A2A-Version") ?? "");
}

type Operation<P, R> = (params: P, call: Context) => MaybePromise<R>;

/** Defines methods of one version. */
function definitionsOf(own: Version, supported: readonly Version[]) {
  return {
    once<P>(read: (params: unknown) => P, run: Operation<P, unknown>) {
      return method({}, (params, call) => {
        checkVersion(call, own, supported);
        return run(read(params), call);
      });
    },
    streamed<P>(read: (params: unknown) => P, run: Operation<P, AsyncIterable<unknown>>) {
      return stream({}, (params, call) => {
        checkVersion(call, own, supported);
        const items = run(read(params), call);
        return isThenable(items) ? opened(items) : items;
      });
    },
  };
}

/** The items of a stream that is not open yet; leaving it leaves the stream at once. */
function opened(opening: PromiseLike<AsyncIterable<unknown>>): AsyncIterable<unknown> {
  const iterator = opening.then((items) => items[Symbol.asyncIterator]());
  iterator.then(undefined, () => {});
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => (await iterator).next(),
      return: async () => (await (await iterator).return?.()) ?? { done: true, value: undefined },
    }),
  };
}

/** The methods of both versions; those of 0.3 have slashes in their names, and are refused if it is not supported. */
export function methodsOf(operations: Operations, hasLegacy: boolean): Methods {
  const supported: readonly Version[] = hasLegacy ? ["1.0", "0.3"] : ["1.0"];
  const { once, streamed } = definitionsOf("1.0", supported);
  const old = definitionsOf("0.3", supported);
  const isFinal = (state: TaskState): boolean => isTerminal(state) || isInterrupted(state);
  const toLegacy = (event: StreamResponse) => legacy.responseTo(event, isFinal);
  const legacySend = (params: unknown) => check.sendParams(legacy.sendFrom(params));
  const legacyPush = (params: unknown) => check.pushReference(legacy.pushReferenceFrom(params));
  return {
    SendMessage: once(check.sendParams, (params, call) => operations.send(params, call)),
    SendStreamingMessage: streamed(check.sendParams, (params, call) =>
      operations.stream(params, call),
    ),
    GetTask: once(check.taskReference, (params, call) => operations.get(params, call)),
    ListTasks: once(check.listTasksParams, (params, call) => operations.list(params, call)),
    CancelTask: once(check.taskReference, (params, call) => operations.cancel(params, call)),
    SubscribeToTask: streamed(check.taskReference, (params, call) =>
      operations.subscribe(params, call),
    ),
    CreateTaskPushNotificationConfig: once(check.pushConfig, (params, call) =>
      operations.createPush(params, call),
    ),
    GetTaskPushNotificationConfig: once(check.pushReference, (params, call) =>
      operations.getPush(params, call),
    ),
    ListTaskPushNotificationConfigs: once(check.pushListing, (params, call) =>
      operations.listPush(params, call),
    ),
    DeleteTaskPushNotificationConfig: once(check.pushReference, (params, call) =>
      operations.deletePush(params, call),
    ),
    GetExtendedAgentCard: once(check.tenantOnly, (_, call) => operations.extendedCard(call)),
    "message/send": old.once(legacySend, async (params, call) =>
      toLegacy(await operations.send(params, call)),
    ),
    "message/stream": old.streamed(legacySend, async (params, call) =>
      mapped(await operations.stream(params, call), toLegacy),
    ),
    "tasks/get": old.once(check.taskReference, async (params, call) =>
      legacy.taskTo(await operations.get(params, call)),
    ),
    "tasks/cancel": old.once(check.taskReference, async (params, call) =>
      legacy.taskTo(await operations.cancel(params, call)),
    ),
    "tasks/resubscribe": old.streamed(check.taskReference, async (params, call) =>
      mapped(await operations.subscribe(params, call), toLegacy),
    ),
    "tasks/pushNotificationConfig/set": old.once(
      (params) => check.pushConfig(legacy.pushConfigFrom(params)),
      async (params, call) => legacy.pushTo(await operations.createPush(params, call)),
    ),
    "tasks/pushNotificationConfig/get": old.once(
      (params) =>
        check.pushListing(legacy.pushReferenceFrom(params)) as { taskId: string; id?: string },
      async ({ taskId, id }, call) =>
        legacy.pushTo(
          id === undefined
            ? legacy.firstPush((await operations.listPush({ taskId }, call)).configs)
            : await operations.getPush({ taskId, id }, call),
        ),
    ),
    "tasks/pushNotificationConfig/list": old.once(
      (params) => check.pushListing(legacy.pushReferenceFrom(params)),
      async (params, call) => (await operations.listPush(params, call)).configs.map(legacy.pushTo),
    ),
    "tasks/pushNotificationConfig/delete": old.once(legacyPush, async (params, call) => {
      await operations.deletePush(params, call);
      return null;
    }),
    "agent/getAuthenticatedExtendedCard": old.once(
      () => ({}),
      (_, call) => operations.extendedCard(call),
    ),
  };
}

function mapped<T, R>(items: AsyncIterable<T>, map: (item: T) => R): AsyncIterable<R> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = items[Symbol.asyncIterator]();
      return {
        async next() {
          const next = await iterator.next();
          return next.done === true
            ? { done: true, value: undefined }
            : { done: false, value: map(next.value) };
        },
        async return() {
          await iterator.return?.();
          return { done: true, value: undefined };
        },
      };
    },
  };
}
