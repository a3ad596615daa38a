import type { UnreadItems } from "../../connection/pending.ts";
import { type Envelope, membersOf } from "../../protocol/envelope.ts";
import type { Payload } from "../../protocol/exchange.ts";
import type { Msg, MsgHdrs } from "./client-library.ts";
import { itemsBefore } from "./headers.ts";

export interface Route {
  readonly subject: string;
  /** Subjects to try, in order, if the first has no subscriber. */
  readonly otherwise?: readonly string[];
  /** Where the callee receives messages about the call, if that is known beforehand. */
  readonly remote?: string | undefined;
}

/** A payload, and what awaits its reply. */
export interface Sending {
  readonly payload: Payload;
  readonly text: string;
  readonly headers: MsgHdrs | undefined;
  readonly route: Route;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

/** A payload that was sent to one worker and awaits its reply. */
export class OutgoingCall {
  /** The last token of its reply subject. */
  readonly token: string;
  readonly sending: Sending;
  /** How many times it was sent again to another worker; only idempotent calls are. */
  readonly repeats: number;
  /** How many more times it may find no worker: after an outage, workers may reconnect later than this peer. */
  patience: number;
  /** Where it was sent last. */
  subject: string;
  /** Where its worker receives messages about it, once known. */
  remote: string | undefined;
  /** Probes since the last sign of its worker. */
  unanswered = 0;
  /** Whether it was sent after the last round of probes. */
  isNew = true;
  /** Whether it, or its reply, may have been lost with a node of the cluster. */
  isAtRisk = false;
  /** Items for which credit was given. */
  credit = 0;
  /** Messages of its upload that were sent: items, and the end. */
  uploaded = 0;
  /** Unread items of its streams; the calls of a batch share one limit. */
  unread: UnreadItems | undefined = undefined;
  #granted = 0;
  #undelivered = 0;
  #items = 0;

  constructor(
    token: string,
    sending: Sending,
    remote: string | undefined,
    repeats = 0,
    patience = 0,
  ) {
    this.token = token;
    this.sending = sending;
    this.repeats = repeats;
    this.patience = patience;
    this.subject = sending.route.subject;
    this.remote = remote;
  }

  repeat(token: string, patience: number): OutgoingCall {
    return new OutgoingCall(token, this.sending, undefined, this.repeats + 1, patience);
  }

  /** Starts again with the first subject. */
  startAgain(): void {
    this.#undelivered = 0;
    this.subject = this.sending.route.subject;
  }

  /** The next subject to try, or undefined if there is none left. */
  nextSubject(): string | undefined {
    const next = this.sending.route.otherwise?.[this.#undelivered++];
    if (next !== undefined) this.subject = next;
    return next;
  }

  /** Counts an item; false if items before it are missing. */
  countItem({ params }: Envelope): boolean {
    this.#items++;
    const { seq } = membersOf(params);
    return typeof seq !== "number" || seq === this.#items;
  }

  /** How many more items of the upload the worker asks for, by the total in its message. */
  newlyGranted({ params }: Envelope): number {
    const { total } = membersOf(params);
    if (typeof total !== "number" || !(total > this.#granted)) return 0;
    const more = total - this.#granted;
    this.#granted = total;
    return more;
  }

  /** Whether all items arrived that the worker had sent when it answered a probe. */
  hasItemsOf({ params }: Envelope): boolean {
    const { items } = membersOf(params);
    return items === undefined || items === this.#items;
  }

  /** Whether all items arrived that were sent before this reply. */
  hasItemsBefore(reply: Msg): boolean {
    return (itemsBefore(reply) ?? this.#items) === this.#items;
  }
}
