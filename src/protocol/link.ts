import type { WireError } from "./errors.ts";
import type { Reply, Request } from "./message.ts";

/** What travels beside a request on its way out, and where whatever comes before its reply goes. */
export interface Outgoing {
  /**
   * Set by the link while the call is open: rejects the call with this error, and tells the other
   * end where the wire can. A function costs a hundredth of an AbortSignal, so links get this. Give it
   * a name before it is assigned: one that is written into a property is old to V8 from its birth,
   * and keeps all that it sees until the next major collection.
   */
  cancel: ((error: WireError) => void) | undefined;
  /**
   * An item of a stream arrived. `give` grants the producer so many more, where the wire can tell it.
   * A wire that cannot waits for the promise, if there is one, before it reads on.
   */
  item(value: unknown, give: (count: number) => void): Promise<void> | undefined;
  /** The other end reported how far it is. */
  progress(value: unknown): void;
  /** The wire broke and the call goes out again; what came in between is lost. */
  gap(): void;
  /** Sent as headers on wires that have them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Whether the call may run twice, so that it may be sent again after the wire broke. */
  readonly idempotent: boolean;
  /** Why its caller gave it up, also while no link had it and set `cancel`; it is not sent again then. */
  readonly failed?: WireError | undefined;
  /** Whether it goes elsewhere where a server is stopping, so that the link tells of that at once. @default false */
  goesElsewhere?: boolean;
  /** Whether its reply is wanted, and nothing that comes before it. @default false */
  readonly awaited?: boolean | undefined;
  /** Whether an item has arrived. @default false */
  readonly streamed?: boolean;
  /** What the caller asked for, if it did. */
  readonly options?: { readonly onProgress?: unknown };
  /** Whether its items are wanted, as far as is known when it is sent. @default false */
  readonly read?: boolean;
}

/**
 * The way out: carries one payload and brings back what answered it. Every client transport
 * is a Link. A promise rejects with a `WireError` when nothing answered.
 */
export interface Link {
  /** Resolves with the reply, or with undefined once a notification was handed over. */
  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined>;
  /** Carries several requests as one payload and gives a promise for each. */
  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[];
  close(): Promise<void>;
}
