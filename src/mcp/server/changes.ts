import type { Id } from "../../protocol/message.ts";
import type { Peer } from "../../protocol/origin.ts";
import { MetaKey } from "../meta-keys.ts";
import { atLeast } from "../revisions.ts";
import type { Session } from "./session.ts";

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
  /** Replies to the request that opened it. */
  end(): void;
}

export type ListKind = "tools" | "prompts" | "resources";

/** Notifies clients of both eras of the changes that they subscribed to. */
export class Changes {
  readonly #sessions = new Set<Session>();
  readonly #listeners = new Set<Listener>();

  addSession(session: Session): void {
    this.#sessions.add(session);
  }

  removeSession(session: Session): void {
    this.#sessions.delete(session);
  }

  addListener(listener: Listener): void {
    this.#listeners.add(listener);
  }

  removeListener(listener: Listener): void {
    this.#listeners.delete(listener);
  }

  listChanged(kind: ListKind): void {
    const method = `notifications/${kind}/list_changed`;
    for (const session of this.#sessions) session.peer?.notify(method);
    this.#notify(method, {}, ({ [`${kind}ListChanged` as const]: wanted }) => wanted === true);
  }

  resourceUpdated(uri: string): void {
    const method = "notifications/resources/updated";
    for (const session of this.#sessions) {
      if (session.subscriptions?.has(uri)) session.peer?.notify(method, { uri });
    }
    this.#notify(method, { uri }, (filter) => filter.resourceSubscriptions?.includes(uri) === true);
  }

  /** Notifies only the client whose user was sent to the page. */
  elicitationComplete(elicitationId: string): void {
    for (const session of this.#sessions) {
      const isMeant = session.pages?.has(elicitationId) && atLeast(session.revision, "2025-11-25");
      if (isMeant) session.peer?.notify("notifications/elicitation/complete", { elicitationId });
    }
  }

  taskChanged(taskId: string, task: Readonly<Record<string, unknown>>): void {
    this.#notify(
      "notifications/tasks",
      task,
      (filter) => filter.taskIds?.includes(taskId) === true,
    );
  }

  /** Ends all subscriptions. */
  end(): void {
    for (const listener of [...this.#listeners]) listener.end();
  }

  #notify(
    method: string,
    params: Readonly<Record<string, unknown>>,
    wants: (filter: ListenFilter) => boolean,
  ): void {
    for (const { id, peer, filter } of this.#listeners) {
      if (wants(filter))
        peer.notify(method, { ...params, _meta: { [MetaKey.SubscriptionId]: id } });
    }
  }
}
