import { WireError } from "../../protocol/errors.ts";
import type { Task } from "../task.ts";
import { isPassing, longestRetryMs, pause, retryMs } from "./pause.ts";
import type { McpParams, ProtocolClient } from "./protocol-client.ts";

/** What to hear of. */
export interface SubscriptionFilter {
  readonly tools?: boolean;
  readonly prompts?: boolean;
  readonly resources?: boolean;
  /** Resources whose content to hear of. */
  readonly uris?: readonly string[];
  /** Tasks whose state to hear of. */
  readonly tasks?: readonly string[];
}

/** What changed; "gap" means that the wire broke and something may have been missed. */
export type Change =
  | { readonly kind: "tools" | "prompts" | "resources" | "gap" }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "task"; readonly task: Task };

export interface Subscription extends AsyncDisposable {
  /** Resolves when nothing more comes, with the error if that was not on purpose. */
  readonly closed: Promise<Error | undefined>;
  close(): Promise<void>;
}

export type ChangeListener = (change: Change) => void;

const listChanges: Readonly<Record<string, "tools" | "prompts" | "resources">> = {
  "notifications/tools/list_changed": "tools",
  "notifications/prompts/list_changed": "prompts",
  "notifications/resources/list_changed": "resources",
};

/** What a notification means for a filter. */
export function changeIn(
  method: string,
  params: McpParams,
  filter: SubscriptionFilter,
): Change | undefined {
  const kind = Object.hasOwn(listChanges, method) ? listChanges[method] : undefined;
  if (kind !== undefined) return filter[kind] === true ? { kind } : undefined;
  if (method === "notifications/resources/updated") {
    const { uri } = params;
    // A server may tell of a part of what was asked for.
    const isMeant = filter.uris?.some((each) => typeof uri === "string" && uri.startsWith(each));
    return isMeant ? { kind: "resource", uri: uri as string } : undefined;
  }
  if (method === "notifications/tasks" || method === "notifications/tasks/status") {
    const task = params as unknown as Task;
    return filter.tasks?.includes(task.taskId) ? { kind: "task", task } : undefined;
  }
  return undefined;
}

/** The legacy era: lists are told of to all, and each resource is asked for by itself. */
export async function subscribeLegacy(
  protocol: ProtocolClient,
  filter: SubscriptionFilter,
  listener: ChangeListener,
): Promise<Subscription> {
  const { uris = [] } = filter;
  const askFor = async (method: string): Promise<void> => {
    await Promise.all(uris.map((uri) => protocol.request(method, { uri })));
  };
  const begin = async (): Promise<void> => {
    await protocol.link.listening;
    await askFor("resources/subscribe");
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
  /** What broke may break again while it is mended; only a server that refuses ends it. */
  const goOn = async (): Promise<void> => {
    const own = ++renewals;
    for (let delayMs = retryMs; own === renewals; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      try {
        await begin();
        if (!ended.signal.aborted) listener({ kind: "gap" });
        return;
      } catch (error) {
        if (!isPassing(error)) return over(error as Error);
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
    protocol.onRenewed(() => void goOn()),
  ];
  try {
    await begin();
  } catch (error) {
    over(undefined);
    throw error;
  }
  const close = async (): Promise<void> => {
    over(undefined);
    // A wire that is gone has no subscriptions either.
    await askFor("resources/unsubscribe").catch(() => {});
  };
  return { closed, close, [Symbol.asyncDispose]: close };
}
