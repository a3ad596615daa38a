import { RemoteError, WireError } from "../../protocol/errors.ts";
import type { Outgoing } from "../../protocol/link.ts";
import { nextId } from "../../protocol/message.ts";
import { pause } from "../../protocol/waiting.ts";
import { MetaKey } from "../meta-keys.ts";
import type { Task } from "../task.ts";
import type { McpParams, ProtocolClient } from "./protocol-client.ts";
import { isTemporary, longestRetryMs, retryMs } from "./retry-waits.ts";
import { namingMethod } from "./unknown-method.ts";

/** Which changes to report. */
export interface SubscriptionFilter {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** Resources whose content to watch. */
  readonly uris?: readonly string[];
  /** Ids of tasks whose state to watch. */
  readonly tasks?: readonly string[];
}

/** What changed; "gap" means that the connection broke and changes may have been missed. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" | "gap" }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "task"; readonly task: Task };

export interface Subscription extends AsyncDisposable {
  /** Resolves when the subscription ends, with an error unless it was closed on purpose. */
  readonly closed: Promise<Error | undefined>;
  close(): Promise<void>;
}

export type ChangeListener = (change: Change) => void;

const listChanges: Readonly<Record<string, "tools" | "prompts" | "resources">> = {
  "notifications/tools/list_changed": "tools",
  "notifications/prompts/list_changed": "prompts",
  "notifications/resources/list_changed": "resources",
};

/** The change that a notification reports, if the filter asks for it. */
function changeIn(
  method: string,
  params: McpParams,
  filter: SubscriptionFilter,
): Change | undefined {
  const kind = Object.hasOwn(listChanges, method) ? listChanges[method] : undefined;
  if (kind !== undefined) return filter[kind] === true ? { kind } : undefined;
  if (method === "notifications/resources/updated") {
    const { uri } = params;
    // A server may report a sub-resource of a subscribed one.
    const isMeant = filter.uris?.some((each) => typeof uri === "string" && uri.startsWith(each));
    return isMeant ? { kind: "resource", uri: uri as string } : undefined;
  }
  if (method === "notifications/tasks" || method === "notifications/tasks/status") {
    const task = params as unknown as Task;
    return filter.tasks?.includes(task.taskId) ? { kind: "task", task } : undefined;
  }
  return undefined;
}

/** Reports changes until it is closed, in either era. */
export async function subscribe(
  protocol: ProtocolClient,
  filter: SubscriptionFilter,
  listener: ChangeListener,
): Promise<Subscription> {
  const { era } = await protocol.connect();
  const guarded: ChangeListener = (change) => {
    try {
      listener(change);
    } catch (error) {
      protocol.log.error({ err: error, change: change.kind }, "a listener of a subscription threw");
    }
  };
  return era === "modern"
    ? subscribeModern(protocol, filter, guarded)
    : subscribeLegacy(protocol, filter, guarded);
}

/** The legacy era: list changes are broadcast to all clients, and each resource is subscribed to by itself. */
async function subscribeLegacy(
  protocol: ProtocolClient,
  filter: SubscriptionFilter,
  listener: ChangeListener,
): Promise<Subscription> {
  const { uris = [] } = filter;
  const requestAll = async (method: string): Promise<void> => {
    await Promise.all(uris.map((uri) => protocol.request(method, { uri })));
  };
  const begin = async (): Promise<void> => {
    await protocol.link.listening;
    await requestAll("resources/subscribe");
  };
  const ended = new AbortController();
  let over: (error: Error | undefined) => void = () => {};
  const closed = new Promise<Error | undefined>((resolve) => {
    over = (error) => {
      for (const stop of stops) stop();
      ended.abort();
      resolve(error);
    };
  });
  let renewals = 0;
  /** Retries because the connection may break again; only a refusal of the server ends the subscription. */
  const renew = async (): Promise<void> => {
    const own = ++renewals;
    for (let delayMs = retryMs; own === renewals; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        await begin();
        if (!ended.signal.aborted) listener({ kind: "gap" });
        return;
      } catch (error) {
        if (!isTemporary(error)) return over(error as Error);
      }
      await pause(delayMs, protocol.clock, ended.signal);
      if (ended.signal.aborted) return;
    }
  };
  const stops = [
    protocol.onClosed(() => over(new WireError("CLOSED", "the client is closed"))),
    protocol.onNotified((method, params) => {
      const change = changeIn(method, params, filter);
      if (change !== undefined) listener(change);
    }),
    protocol.onMissed(() => listener({ kind: "gap" })),
    protocol.onRenewed(() => void renew()),
  ];
  try {
    await begin();
  } catch (error) {
    over(undefined);
    throw error;
  }
  const close = async (): Promise<void> => {
    over(undefined);
    // If the connection is gone, so are its subscriptions.
    await requestAll("resources/unsubscribe").catch(() => {});
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}

const listenMethod = "subscriptions/listen";

/** The modern era: a request that stays open, and is sent again when the connection breaks. */
async function subscribeModern(
  protocol: ProtocolClient,
  filter: SubscriptionFilter,
  listener: ChangeListener,
): Promise<Subscription> {
  const { tools, prompts, resources, uris, tasks } = filter;
  const notifications = {
    ...(tools === true && { toolsListChanged: true }),
    ...(prompts === true && { promptsListChanged: true }),
    ...(resources === true && { resourcesListChanged: true }),
    ...(uris !== undefined && { resourceSubscriptions: uris }),
    ...(tasks !== undefined && { taskIds: tasks }),
  };
  const stopped = new AbortController();
  const over = AbortSignal.any([stopped.signal, protocol.closing]);
  let open: Outgoing | undefined;
  let acknowledge: () => void = () => {};
  const acknowledged = new Promise<undefined>((resolve) => {
    acknowledge = () => resolve(undefined);
  });

  /** One request, until it ends; `accepted` if the server acknowledged it. */
  const listen = async (again: boolean): Promise<{ error?: Error; accepted: boolean }> => {
    const id = nextId();
    let accepted = false;
    let ended = false;
    const outgoing: Outgoing = {
      cancel: undefined,
      item: () => undefined,
      progress: () => {},
      gap: () => {},
      headers: undefined,
      idempotent: false,
    };
    open = outgoing;
    const stopListening = protocol.onNotified((method, params) => {
      // The specification lets servers end it with a reply or with this notification.
      if (method === "notifications/cancelled" && params.requestId === id) {
        ended = true;
        outgoing.cancel?.(new WireError("CLOSED", "the server ended the subscription"));
        return;
      }
      const { _meta } = params as { _meta?: Readonly<Record<string, unknown>> };
      if (_meta?.[MetaKey.SubscriptionId] !== id) return;
      if (method === "notifications/subscriptions/acknowledged") {
        accepted = true;
        acknowledge();
        if (again) {
          protocol.forget();
          listener({ kind: "gap" });
        }
      }
      const change = changeIn(method, params, filter);
      if (change !== undefined) listener(change);
    });
    const request = {
      jsonrpc: "2.0",
      method: listenMethod,
      params: { notifications },
      id,
    } as const;
    try {
      const reply = await protocol.link.send(protocol.written(request, false), outgoing);
      if (reply?.error === undefined) return { accepted };
      const error = namingMethod(RemoteError.from(reply.error), listenMethod) as Error;
      return { error, accepted };
    } catch (error) {
      return ended ? { accepted } : { error: error as Error, accepted };
    } finally {
      stopListening();
      open = undefined;
    }
  };

  const run = async (): Promise<Error | undefined> => {
    let wasAccepted = false;
    for (let delayMs = retryMs; ; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      const { error, accepted } = await listen(wasAccepted);
      if (stopped.signal.aborted) return undefined;
      if (accepted) delayMs = retryMs;
      wasAccepted ||= accepted;
      // Don't ask again if the server ended the subscription or never accepted it.
      if (error === undefined) return undefined;
      if (!wasAccepted || !isTemporary(error)) return error;
      await pause(delayMs, protocol.clock, over);
      if (stopped.signal.aborted) return undefined;
    }
  };

  const closed = run();
  const close = async (): Promise<void> => {
    stopped.abort();
    open?.cancel?.(new WireError("ABORTED", "the subscription was closed"));
    await closed;
  };
  const error = await Promise.race([acknowledged, closed]);
  if (error !== undefined) throw error;
  return { closed, close, [Symbol.asyncDispose]: close };
}
