import type { Id } from "../../protocol/message.ts";
import type { Peer } from "../../protocol/origin.ts";
import { isRecord } from "../../protocol/record.ts";
import type { ServerCapabilities } from "../capabilities.ts";
import { invalidArguments, McpError } from "../errors.ts";
import { MetaKey } from "../meta-keys.ts";
import { atLeast } from "../revisions.ts";
import { type TaskRecord, taskResultOf } from "../task-record.ts";
import type { Catalog } from "./catalog.ts";
import { findResource } from "./feature-operations.ts";
import type { Operation } from "./operation.ts";
import type { Session } from "./session.ts";
import { takesTasks } from "./task-operations.ts";
import type { Tasks } from "./tasks.ts";

/** The notifications that a modern client asks for. */
export interface ListenFilter {
  readonly toolsListChanged?: boolean;
  readonly promptsListChanged?: boolean;
  readonly resourcesListChanged?: boolean;
  readonly resourceSubscriptions?: readonly string[];
  readonly taskIds?: readonly string[];
}

/** An open `subscriptions/listen`. */
export interface Listener {
  readonly id: Id;
  readonly peer: Peer;
  readonly filter: ListenFilter;
  /** The resources in the filter. */
  readonly uris: ReadonlySet<string>;
}

/** A change that is reported to one process, and that clients of other processes subscribed to. */
export type Update = { readonly uri: string } | { readonly elicitationId: string };

export type ListKind = "tools" | "prompts" | "resources";

/** Limits for one session, and for one `subscriptions/listen`, in number and characters. */
const mostSubscriptions = 1_000;
const longestSubscriptions = 128 * 1024;
/** Most characters of URIs of all sessions together. Each session may always have a few, because there may be thousands of sessions. */
const longestInAll = 16 * 1024 * 1024;
const alwaysAllowed = 4 * 1024;

/** Notifies clients of both eras of the changes that they subscribed to. */
export class Changes {
  readonly #sessions = new Set<Session>();
  readonly #listeners = new Set<Listener>();
  /** Characters of the URIs that all sessions subscribed to. */
  #subscribedLength = 0;
  /** Called when a session has ended. */
  sessionEnded: ((session: Session) => void) | undefined = undefined;
  /** Called when the first client subscribes to a resource; resolves when its changes will be reported. */
  wanted: ((uri: string) => Promise<void>) | undefined = undefined;
  /** Publishes to the other processes of a fleet. */
  publish: ((item: Update) => void) | undefined = undefined;

  addSession(session: Session): void {
    this.#sessions.add(session);
  }

  removeSession(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    this.#subscribedLength -= subscribedLength(session);
    this.sessionEnded?.(session);
  }

  /** False if the session has too many subscriptions, or all sessions together. */
  subscribe(session: Session, uri: string): boolean {
    session.subscriptions ??= new Set();
    const { subscriptions } = session;
    if (subscriptions.has(uri)) return true;
    const length = subscribedLength(session) + uri.length;
    const hasRoom =
      length <= alwaysAllowed ||
      (length <= longestSubscriptions && this.#subscribedLength + uri.length <= longestInAll);
    if (subscriptions.size >= mostSubscriptions || !hasRoom) return false;
    subscriptions.add(uri);
    session.isChanged = true;
    // One that has ended meanwhile is not subtracted again.
    if (this.#sessions.has(session)) this.#subscribedLength += uri.length;
    return true;
  }

  unsubscribe(session: Session, uri: string): void {
    const isCounted = this.#sessions.has(session);
    if (session.subscriptions?.delete(uri) !== true) return;
    session.isChanged = true;
    if (isCounted) this.#subscribedLength -= uri.length;
  }

  /** Takes over the subscriptions that another process has stored. */
  replaceSubscriptions(session: Session, uris: readonly string[]): void {
    const { subscriptions } = session;
    const isSame =
      (subscriptions?.size ?? 0) === uris.length && uris.every((uri) => subscriptions?.has(uri));
    if (isSame) return;
    const before = subscribedLength(session);
    session.subscriptions = new Set(uris);
    if (this.#sessions.has(session)) this.#subscribedLength += subscribedLength(session) - before;
  }

  addListener(listener: Listener): void {
    this.#listeners.add(listener);
  }

  /** Resolves when changes of these resources will be known here; undefined if they are. */
  watching(uris: readonly string[] | undefined): Promise<unknown> | undefined {
    const { wanted } = this;
    const fresh = wanted && uris?.filter((uri) => !this.isWanted(uri));
    if (wanted === undefined || fresh === undefined || fresh.length === 0) return undefined;
    // A server that cannot be subscribed to still has its resource.
    return Promise.allSettled(fresh.map(wanted));
  }

  /** Whether any client watches a resource. */
  isWanted(uri: string): boolean {
    for (const { subscriptions } of this.#sessions) if (subscriptions?.has(uri)) return true;
    for (const { uris } of this.#listeners) if (uris.has(uri)) return true;
    return false;
  }

  removeListener(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  listChanged(kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`;
    for (const session of this.#sessions) session.peer?.notify(method);
    this.#notify(method, {}, ({ filter }) => filter[`${kind}ListChanged`] === true);
  }

  resourceUpdated(uri: string): void {
    this.publish?.({ uri });
    this.#updated(uri);
  }

  /** Notifies the clients of this process only. */
  deliver(item: Update): void {
    if ("uri" in item) this.#updated(item.uri);
    else this.#completed(item.elicitationId);
  }

  #updated(uri: string): void {
    const method = "notifications/resources/updated";
    for (const session of this.#sessions) {
      if (session.subscriptions?.has(uri)) session.peer?.notify(method, { uri });
    }
    this.#notify(method, { uri }, ({ uris }) => uris.has(uri));
  }

  /** Notifies only the client whose user was sent to the page. */
  elicitationComplete(elicitationId: string): void {
    this.publish?.({ elicitationId });
    this.#completed(elicitationId);
  }

  #completed(elicitationId: string): void {
    for (const session of this.#sessions) {
      const isMeant = session.pages?.has(elicitationId) && atLeast(session.revision, "2025-11-25");
      if (isMeant) session.peer?.notify("notifications/elicitation/complete", { elicitationId });
    }
  }

  #notify(
    method: string,
    params: Readonly<Record<string, unknown>>,
    wants: (listener: Listener) => boolean,
  ): void {
    for (const listener of this.#listeners) {
      const { id, peer } = listener;
      if (wants(listener))
        peer.notify(method, { ...params, _meta: { [MetaKey.SubscriptionId]: id } });
    }
  }
}

function subscribedLength({ subscriptions = new Set() }: Session): number {
  let length = 0;
  for (const uri of subscriptions) length += uri.length;
  return length;
}

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
    if (isTooMuch(wanted.resourceSubscriptions) || isTooMuch(wanted.taskIds)) {
      throw invalidArguments("too many subscriptions");
    }
    const mayRead = (uri: unknown): boolean =>
      typeof uri === "string" && findResource(catalog, uri, context) !== undefined;
    const _meta = { [MetaKey.SubscriptionId]: id };
    // The request stays open as long as the client listens.
    context.limit(Number.POSITIVE_INFINITY);
    const listen = (own: readonly TaskRecord[] | undefined): Promise<object> => {
      const taskIds = own?.map(({ id }) => id);
      const filter = supportedFilter(wanted, capabilities(), mayRead, taskIds);
      const ready = changes.watching(filter.resourceSubscriptions);
      const acknowledge = (): void =>
        void peer.notify("notifications/subscriptions/acknowledged", {
          notifications: filter,
          _meta,
        });
      if (ready === undefined) acknowledge();
      else void ready.then(acknowledge);
      const left = own?.map((record) =>
        tasks.follow(record, (changed) => {
          void peer.notify("notifications/tasks", { ...taskResultOf(changed), _meta });
        }),
      );
      return new Promise<object>((resolve) => {
        const end = (): void => {
          changes.removeListener(listener);
          for (const leave of left ?? []) leave();
          resolve({ _meta });
        };
        const uris = new Set(filter.resourceSubscriptions);
        const listener: Listener = { id, peer, filter, uris };
        changes.addListener(listener);
        context.subscribe(end);
        if (signal.aborted) end();
        else signal.addEventListener("abort", end, { once: true });
      });
    };
    if (!takesTasks(caller) || !Array.isArray(wanted.taskIds)) return listen(undefined);
    const found = [...new Set(wanted.taskIds)].map(async (taskId) =>
      tasks.get(taskId, context, caller),
    );
    return Promise.all(found).then((records) =>
      listen(records.filter((record) => record !== undefined)),
    );
  };
}

/** Each entry costs time and memory, in a gateway also at the server behind it. */
function isTooMuch(entries: unknown): boolean {
  if (!Array.isArray(entries)) return false;
  return entries.length > mostSubscriptions || entries.join("").length > longestSubscriptions;
}

/** The part of a filter that this server supports: own tasks, and resources that the client may read. */
function supportedFilter(
  wanted: ListenFilter,
  { tools, prompts, resources }: ServerCapabilities,
  mayRead: (uri: unknown) => boolean,
  taskIds: readonly string[] | undefined,
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
    ...(taskIds !== undefined && { taskIds }),
  };
}
