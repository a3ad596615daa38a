import { RemoteError, WireError } from "../../protocol/errors.ts";
import { nextId } from "../../protocol/ids.ts";
import type { Outgoing } from "../../protocol/link.ts";
import type { ErrorObject, Id, Request } from "../../protocol/message.ts";
import { MetaKey } from "../meta-keys.ts";
import { isPassing, longestRetryMs, pause, retryMs } from "./pause.ts";
import { namingMethod, type ProtocolClient } from "./protocol-client.ts";
import {
  type ChangeListener,
  changeIn,
  type Subscription,
  type SubscriptionFilter,
} from "./subscription.ts";

const method = "subscriptions/listen";

/** The modern era: a request that stays open, and is made again when the wire breaks. */
export class ModernSubscription implements Subscription {
  readonly closed: Promise<Error | undefined>;
  readonly #protocol: ProtocolClient;
  readonly #filter: SubscriptionFilter;
  readonly #listener: ChangeListener;
  readonly #stop = new AbortController();
  #cancel: ((error: WireError) => void) | undefined;
  readonly #acknowledged: () => void;

  private constructor(
    protocol: ProtocolClient,
    filter: SubscriptionFilter,
    listener: ChangeListener,
    acknowledged: () => void,
  ) {
    this.#protocol = protocol;
    this.#filter = filter;
    this.#listener = listener;
    this.#acknowledged = acknowledged;
    this.closed = this.#run();
  }

  /** Resolves when the server has said that it listens to the wish. */
  static async begin(
    protocol: ProtocolClient,
    filter: SubscriptionFilter,
    listener: ChangeListener,
  ): Promise<Subscription> {
    let tell: () => void = () => {};
    const acknowledged = new Promise<undefined>((resolve) => {
      tell = () => resolve(undefined);
    });
    const listening = new ModernSubscription(protocol, filter, listener, tell);
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
    const { clock, closing } = this.#protocol;
    const over = AbortSignal.any([signal, closing]);
    let wasHeard = false;
    for (let delayMs = retryMs; ; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      const { error, heard } = await this.#listen(wasHeard);
      if (signal.aborted) return undefined;
      if (heard) delayMs = retryMs;
      wasHeard ||= heard;
      // A server that ends it, or never took it, is not asked again.
      if (error === undefined) return undefined;
      if (!wasHeard || !isPassing(error)) return error;
      await pause(delayMs, clock, over);
      if (signal.aborted) return undefined;
    }
  }

  async #listen(again: boolean): Promise<{ error: Error | undefined; heard: boolean }> {
    const id = nextId();
    let heard = false;
    let ended = false;
    const stopHearing = this.#protocol.onNotified((method, params) => {
      // The specification lets servers end it with their answer, or with this.
      if (method === "notifications/cancelled" && params.requestId === id) {
        ended = true;
        this.#cancel?.(new WireError("CLOSED", "the server ended the subscription"));
        return;
      }
      const { _meta } = params as { _meta?: Readonly<Record<string, unknown>> };
      if (_meta?.[MetaKey.SubscriptionId] !== id) return;
      if (method === "notifications/subscriptions/acknowledged") {
        heard = true;
        this.#acknowledged();
        if (again) {
          this.#protocol.forget();
          this.#listener({ kind: "gap" });
        }
      }
      const change = changeIn(method, params, this.#filter);
      if (change !== undefined) this.#listener(change);
    });
    const outgoing = this.#outgoing();
    try {
      const reply = await this.#protocol.link.send(this.#request(id), outgoing);
      const error = reply?.error && namedError(reply.error);
      return { error, heard };
    } catch (error) {
      return { error: ended ? undefined : (error as Error), heard };
    } finally {
      stopHearing();
      this.#cancel = undefined;
    }
  }

  #request(id: Id): Request {
    const { tools, prompts, resources, uris, tasks } = this.#filter;
    const notifications = {
      ...(tools === true && { toolsListChanged: true }),
      ...(prompts === true && { promptsListChanged: true }),
      ...(resources === true && { resourcesListChanged: true }),
      ...(uris !== undefined && { resourceSubscriptions: uris }),
      ...(tasks !== undefined && { taskIds: tasks }),
    };
    return this.#protocol.written({ jsonrpc: "2.0", method, params: { notifications }, id }, false);
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

function namedError(error: ErrorObject): Error {
  return namingMethod(RemoteError.from(error), method) as Error;
}
