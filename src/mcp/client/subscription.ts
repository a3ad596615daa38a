import { RemoteError, WireError } from "../../protocol/errors.ts";
import { nextId } from "../../protocol/ids.ts";
import type { Outgoing } from "../../protocol/link.ts";
import type { Id } from "../../protocol/message.ts";
import { MetaKey } from "../meta-keys.ts";
import type { Task } from "../task.ts";
import type { Conversation, McpParams } from "./conversation.ts";
import { pause } from "./pause.ts";

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
  conversation: Conversation,
  filter: SubscriptionFilter,
  listener: ChangeListener,
): Promise<Subscription> {
  const { uris = [] } = filter;
  const askFor = async (method: string): Promise<void> => {
    await Promise.all(uris.map((uri) => conversation.request(method, { uri })));
  };
  const stops = [
    conversation.onNotified((method, params) => {
      const change = changeIn(method, params, filter);
      if (change !== undefined) listener(change);
    }),
    conversation.onRenewed(() => {
      askFor("resources/subscribe").then(
        () => listener({ kind: "gap" }),
        (error: unknown) => over(error as Error),
      );
    }),
  ];
  let over: (error: Error | undefined) => void = () => {};
  const closed = new Promise<Error | undefined>((resolve) => {
    over = (error) => {
      for (const stop of stops) stop();
      resolve(error);
    };
  });
  try {
    await askFor("resources/subscribe");
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

/** The wait before a stream that broke is asked for again; it doubles. */
const retryMs = 500;
const longestRetryMs = 30_000;

/** The modern era: a request that stays open, and is made again when the wire breaks. */
export class Listening implements Subscription {
  readonly closed: Promise<Error | undefined>;
  readonly #conversation: Conversation;
  readonly #filter: SubscriptionFilter;
  readonly #listener: ChangeListener;
  readonly #stop = new AbortController();
  #cancel: ((error: WireError) => void) | undefined;
  #acknowledged: () => void = () => {};

  private constructor(
    conversation: Conversation,
    filter: SubscriptionFilter,
    listener: ChangeListener,
  ) {
    this.#conversation = conversation;
    this.#filter = filter;
    this.#listener = listener;
    this.closed = this.#run();
  }

  /** Resolves when the server has said that it listens to the wish. */
  static async begin(
    conversation: Conversation,
    filter: SubscriptionFilter,
    listener: ChangeListener,
  ): Promise<Subscription> {
    const listening = new Listening(conversation, filter, listener);
    const acknowledged = new Promise<undefined>((resolve) => {
      listening.#acknowledged = () => resolve(undefined);
    });
    const error = await Promise.race([acknowledged, listening.closed]);
    if (error !== undefined) throw error;
    return listening;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancel?.(new WireError("ABORTED", "the subscription was closed"));
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #run(): Promise<Error | undefined> {
    const { signal } = this.#stop;
    let wasHeard = false;
    for (let delayMs = retryMs; ; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      const { error, heard } = await this.#listen(wasHeard);
      if (signal.aborted) return undefined;
      if (heard) delayMs = retryMs;
      wasHeard ||= heard;
      // A server that ends it, or never took it, is not asked again.
      if (error === undefined) return undefined;
      if (!wasHeard || !(error instanceof WireError) || error.code === "CLOSED") return error;
      await pause(delayMs, this.#conversation.clock, signal);
      if (signal.aborted) return undefined;
    }
  }

  async #listen(again: boolean): Promise<{ error: Error | undefined; heard: boolean }> {
    const id = nextId();
    let heard = false;
    const stopHearing = this.#conversation.onNotified((method, params) => {
      const { _meta } = params as { _meta?: Readonly<Record<string, unknown>> };
      if (_meta?.[MetaKey.SubscriptionId] !== id) return;
      if (method === "notifications/subscriptions/acknowledged") {
        heard = true;
        this.#acknowledged();
        if (again) this.#listener({ kind: "gap" });
      }
      const change = changeIn(method, params, this.#filter);
      if (change !== undefined) this.#listener(change);
    });
    const outgoing = this.#outgoing();
    try {
      const reply = await this.#conversation.link.send(this.#request(id), outgoing);
      const error = reply?.error === undefined ? undefined : RemoteError.from(reply.error);
      return { error, heard };
    } catch (error) {
      return { error: error as Error, heard };
    } finally {
      stopHearing();
      this.#cancel = undefined;
    }
  }

  #request(id: Id) {
    const { tools, prompts, resources, uris, tasks } = this.#filter;
    const notifications = {
      ...(tools === true && { toolsListChanged: true }),
      ...(prompts === true && { promptsListChanged: true }),
      ...(resources === true && { resourcesListChanged: true }),
      ...(uris !== undefined && { resourceSubscriptions: uris }),
      ...(tasks !== undefined && { taskIds: tasks }),
    };
    const method = "subscriptions/listen";
    return this.#conversation.written(
      { jsonrpc: "2.0", method, params: { notifications }, id },
      false,
    );
  }

  #outgoing(): Outgoing {
    const listening = this;
    return {
      set cancel(cancel: ((error: WireError) => void) | undefined) {
        listening.#cancel = cancel;
      },
      get cancel(): ((error: WireError) => void) | undefined {
        return listening.#cancel;
      },
      item: () => undefined,
      progress: () => {},
      gap: () => {},
      headers: undefined,
      idempotent: false,
    };
  }
}
