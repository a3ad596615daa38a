import { callPeer } from "../../../connection/peer-call.ts";
import { type EventPeer, messages } from "../../../http/event-peer.ts";
import { WireError } from "../../../protocol/errors.ts";
import type { EventForm } from "../../../protocol/event-form.ts";
import type { Outgoing } from "../../../protocol/link.ts";
import type { Params, Reply, Request } from "../../../protocol/message.ts";
import { type CallBackOptions, type Peer, unreachablePeer } from "../../../protocol/origin.ts";
import { requestText } from "../../../protocol/serialize.ts";
import { mcpNotices } from "../../notices.ts";
import { atLeast, type Revision } from "../../revisions.ts";
import type { Session } from "../session.ts";

const primed: EventForm = { ...messages, primes: true };

/** Since 2025-11-25 a stream begins with an empty event, which older clients do not understand. */
export function eventForm(revision: Revision | undefined): EventForm {
  return revision !== undefined && atLeast(revision, "2025-11-25") ? primed : messages;
}

/** A client that receives an event stream, and replies with requests of its own. */
export class StreamPeer implements Peer {
  readonly canNotify = true;
  readonly #events: EventPeer;
  /** Where its replies arrive; undefined in the modern era, which has no calls to clients. */
  readonly #session: Session | undefined;

  constructor(events: EventPeer, session: Session | undefined) {
    this.#events = events;
    this.#session = session;
  }

  get closed(): Promise<void> {
    return this.#events.closed;
  }

  notify(method: string, params?: Params): boolean {
    return this.#events.notify(method, params);
  }

  ready(): Promise<void> | undefined {
    return this.#events.ready();
  }

  release(): void {
    this.#events.release();
  }

  call(method: string, params?: Params, options?: CallBackOptions): Promise<unknown> {
    return callPeer(this, method, params, options);
  }

  send(asked: Request, outgoing: Outgoing): Promise<Reply | undefined> {
    if (this.#session === undefined) return unreachablePeer.send(asked, outgoing);
    const { pending, requestPrefix } = this.#session;
    const isShared = requestPrefix !== undefined && asked.id !== undefined;
    const request = isShared ? { ...asked, id: `${requestPrefix}${asked.id}` } : asked;
    const { id } = request;
    const reply =
      id === undefined
        ? Promise.resolve(undefined)
        : pending.add(id, request, outgoing, () => {
            const { method, params } = mcpNotices.cancel(id);
            this.notify(method, params);
          });
    if (!this.#events.sendEvent(requestText(request))) {
      outgoing.cancel?.(new WireError("CONNECTION_LOST", "the client has closed its event stream"));
    }
    return reply;
  }

  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[] {
    return requests.map((request, i) => this.send(request, outgoing[i] as Outgoing));
  }

  close(): Promise<void> {
    this.#events.abandon();
    return Promise.resolve();
  }
}
