import type { ServerCapabilities } from "../capabilities.ts";
import { McpError } from "../errors.ts";
import { MetaKey } from "../meta-keys.ts";
import { isRecord } from "../record.ts";
import type { Catalog } from "./catalog.ts";
import type { Changes, Listener, ListenFilter } from "./changes.ts";
import { findResource } from "./feature-operations.ts";
import type { Operation } from "./operation.ts";
import { takesTasks } from "./task-operations.ts";
import type { Tasks } from "./tasks.ts";

/** `subscriptions/listen`: a request that stays open and gets the notifications that it asks for. */
export function listening(
  catalog: Catalog,
  changes: Changes,
  tasks: Tasks,
  capabilities: () => ServerCapabilities,
): Operation {
  return (params, context, caller) => {
    const { id = null, peer, signal } = context;
    if (!peer.canNotify) {
      throw new McpError(
        -32602,
        "subscriptions/listen requires a client that accepts an event stream",
      );
    }
    const wanted = isRecord(params.notifications) ? (params.notifications as ListenFilter) : {};
    const own = (taskId: string): boolean => tasks.has(taskId, context, caller);
    const mayRead = (uri: unknown): boolean =>
      typeof uri === "string" && findResource(catalog, uri, context) !== undefined;
    const filter = supportedFilter(
      wanted,
      capabilities(),
      mayRead,
      takesTasks(caller) ? own : undefined,
    );
    const _meta = { [MetaKey.SubscriptionId]: id };
    // The request stays open as long as the client listens.
    context.limit(Number.POSITIVE_INFINITY);
    peer.notify("notifications/subscriptions/acknowledged", { notifications: filter, _meta });
    return new Promise<object>((resolve) => {
      const end = (): void => {
        changes.removeListener(listener);
        resolve({ _meta });
      };
      const listener: Listener = { id, peer, filter, end };
      changes.addListener(listener);
      signal.addEventListener("abort", end, { once: true });
    });
  };
}

/** The part of a filter that this server supports: own tasks, and resources that the client may read. */
function supportedFilter(
  wanted: ListenFilter,
  { tools, prompts, resources }: ServerCapabilities,
  mayRead: (uri: unknown) => boolean,
  isOwnTask: ((taskId: string) => boolean) | undefined,
): ListenFilter {
  return {
    ...(wanted.toolsListChanged === true && tools !== undefined && { toolsListChanged: true }),
    ...(wanted.promptsListChanged === true &&
      prompts !== undefined && { promptsListChanged: true }),
    ...(wanted.resourcesListChanged === true &&
      resources !== undefined && { resourcesListChanged: true }),
    ...(Array.isArray(wanted.resourceSubscriptions) &&
      resources !== undefined && {
        resourceSubscriptions: wanted.resourceSubscriptions.filter(mayRead),
      }),
    ...(Array.isArray(wanted.taskIds) &&
      isOwnTask !== undefined && { taskIds: wanted.taskIds.filter(isOwnTask) }),
  };
}
