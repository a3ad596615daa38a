import type { Payload } from "../../protocol/exchange.ts";
import { type Envelope, isEnvelope } from "../../protocol/parse.ts";
import type { Msg, MsgHdrs } from "./client-library.ts";
import { countOf, numberOf } from "./item-numbers.ts";

/** Where a payload goes. */
export interface Route {
  readonly subject: string;
  /** Where it goes, one after the other, when nobody listens there. */
  readonly otherwise?: readonly string[];
  /** Where the one who answers hears about the call, if that is known beforehand. */
  readonly remote?: string | undefined;
}

/** What is sent, and who waits for the reply. */
export interface Sending {
  readonly payload: Payload;
  readonly text: string;
  readonly headers: MsgHdrs | undefined;
  readonly route: Route;
  readonly resolve: (text: string) => void;
  readonly reject: (error: unknown) => void;
}

/** A payload on its way to one worker. */
export class OpenCall {
  readonly sending: Sending;
  /** How often it was sent again; only what may run twice is. */
  readonly repeats: number;
  /** How often it may still find nobody: workers may lose the engine too, and be back later than this end. */
  patience: number;
  /** Where it was sent last. */
  subject: string;
  /** How often nobody listened there. */
  #unheard: number;
  remote: string | undefined;
  /** How often it was asked after, without an answer. */
  asked: number;
  young: boolean;
  /** Whether it, or its reply, may have been lost with a node of the engine. */
  endangered: boolean;
  /** For how many items credit was given. */
  given: number;
  #items: number;

  constructor(sending: Sending, remote: string | undefined, repeats = 0, patience = 0) {
    this.sending = sending;
    this.repeats = repeats;
    this.patience = patience;
    this.subject = sending.route.subject;
    this.#unheard = 0;
    this.remote = remote;
    this.asked = 0;
    this.young = true;
    this.endangered = false;
    this.given = 0;
    this.#items = 0;
  }

  /** The same call for another worker. */
  again(patience: number): OpenCall {
    return new OpenCall(this.sending, undefined, this.repeats + 1, patience);
  }

  /** From the first place where it may go. */
  anew(): string {
    this.#unheard = 0;
    this.subject = this.sending.route.subject;
    return this.subject;
  }

  /** Where it goes now that nobody listens where it was sent; undefined when nobody does anywhere. */
  next(): string | undefined {
    const next = this.sending.route.otherwise?.[this.#unheard++];
    if (next !== undefined) this.subject = next;
    return next;
  }

  /** What is said where nobody listens, below this subject or at the other end of a call back. */
  nobodyTakes(subject: string | undefined): string {
    if (subject === undefined) return "the other end is not there any more";
    const { requests } = this.sending.payload;
    const [only, second] = requests;
    const what =
      only === undefined || second !== undefined ? `a batch of ${requests.length}` : only.method;
    return `no worker listens under the subject ${subject}, so nobody can take ${what}`;
  }

  /** Counts an item, and says whether it is the one that was to come. */
  takes(item: Envelope): boolean {
    this.#items++;
    return (numberOf(item) ?? this.#items) === this.#items;
  }

  /** Whether all items came that its worker had sent when it was asked after the call. */
  hasAllOf({ params }: Envelope): boolean {
    const { items } = (isEnvelope(params) ? params : {}) as { items?: unknown };
    return items === undefined || items === this.#items;
  }

  /** Whether all items came that were sent before this reply. */
  hasAllBefore(reply: Msg): boolean {
    return (countOf(reply) ?? this.#items) === this.#items;
  }
}
