import type { WireError } from "./errors.ts";
import type { MaybePromise, Reply, Request, TypedPaths } from "./message.ts";

/** An item in its JSON form, with the types of its rich values. */
export interface ItemMembers {
  readonly value: unknown;
  readonly types?: TypedPaths;
}

/** Where the items of an upload go: the wire that its call was sent over. */
export interface UploadSink {
  item(members: ItemMembers): void;
  /** There are no more items. */
  done(): void;
  /** Undefined while the wire accepts more. */
  ready(): Promise<void> | undefined;
}

/** Items that a call sends while it runs. */
export interface OutgoingUpload {
  /** Whether an item may have been taken from its source, so that the call cannot be sent again. */
  readonly begun: boolean;
  /** The peer asks for `count` more items, which go to this sink. */
  grant(count: number, sink: UploadSink): void;
}

/** What travels with a request, and where messages that come before its reply go. */
export interface Outgoing {
  /**
   * Set by the link while the call is open: rejects the call with this error, and cancels it at the peer if the wire
   * can. A function costs a hundredth of an AbortSignal. Assign a named function: V8 allocates a function that is
   * written straight into a property as old, and keeps everything that it captures until the next major collection.
   */
  cancel: ((error: WireError) => void) | undefined;
  /**
   * An item of a stream arrived. `give` grants the producer more credit, if the wire can send it. A wire that cannot
   * waits for the returned promise, if any, before it reads on. `types` are those of rich values in it.
   */
  item(
    value: unknown,
    give: (count: number) => void,
    types?: TypedPaths,
  ): Promise<void> | undefined;
  /** The peer reported progress. */
  progress(value: unknown, types?: TypedPaths): void;
  /** The connection broke and the call is sent again; what came in between is lost. */
  gap(): void;
  /** Sent as headers on wires that have them. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Whether the call may run twice, so that it may be sent again after the connection broke. */
  readonly idempotent: boolean;
  /** Why the caller cancelled it, also while no link had it; it is not sent again then. */
  readonly failed?: WireError | undefined;
  /**
   * Whether the caller has another server to use if this one shuts down, so that the link fails at once. @default
   * false
   */
  goesElsewhere?: boolean;
  /** Whether the caller wants the reply only, and nothing that comes before it. @default false */
  readonly awaited?: boolean | undefined;
  /** Whether an item has arrived. @default false */
  readonly streamed?: boolean;
  /** What the caller asked for, if it did. */
  readonly options?: {
    readonly onProgress?: unknown;
    readonly onUploadProgress?: ((progress: UploadProgress) => void) | undefined;
  };
  /** Whether the caller reads the items, as far as is known when it is sent. @default false */
  readonly read?: boolean;
  /** What it sends while it runs, if its request has the member `upload`. */
  readonly upload?: OutgoingUpload | undefined;
  /** The link that it goes to. */
  readonly link?: Link | undefined;
}

/** How much of a request was sent. */
export interface UploadProgress {
  /** In bytes, with the message. */
  readonly sent: number;
  /** In bytes; undefined if the length of a stream is not known. */
  readonly total: number | undefined;
}

/** Whether a link has a connection. "idle" connects with the next call. */
export type LinkState = "idle" | "connecting" | "open" | "reconnecting" | "closed";

/** The state of a link, now and later. */
export interface LinkStates {
  readonly now: LinkState;
  /** Calls the listener with each new state; returns a function that stops it. */
  listen(listener: (state: LinkState) => void): () => void;
}

/**
 * Carries payloads to a server and returns the replies. Every client transport is a Link. A promise rejects with a
 * `WireError` if no reply came.
 */
export interface Link {
  /** Resolves with the reply, or with undefined once a notification was sent. */
  send(request: Request, outgoing: Outgoing): Promise<Reply | undefined>;
  /** Sends several requests as one payload and returns a promise for each. */
  sendBatch(
    requests: readonly Request[],
    outgoing: readonly Outgoing[],
  ): readonly Promise<Reply | undefined>[];
  close(): Promise<void>;
  /** The URL that it leads to, for traces; missing if there is none, or not only one. */
  readonly address?: string | undefined;
  /** Whether it carries bytes beside a request that is sent alone, or a function that asks its peer. @default false */
  readonly carriesBytes?: boolean | (() => Promise<boolean>) | undefined;
  /** Whether it has a connection; missing for links that never have one, such as HTTP. */
  readonly states?: LinkStates | undefined;
}

/**
 * Whether a link carries bytes beside this request. If the link cannot connect, the call reports it: sending fails in the
 * same way, and behind middleware, which may try again.
 */
export function carries(link: Pick<Link, "carriesBytes">, { id }: Request): MaybePromise<boolean> {
  const asked = carriesAny(link);
  if (typeof asked === "boolean") return asked;
  // On a connection, bytes are asked for by the id of their call.
  return id !== undefined && asked.catch(() => true);
}

/** Whether a link carries bytes beside calls; rejects if it cannot connect. */
export function carriesAny({
  carriesBytes,
}: Pick<Link, "carriesBytes">): boolean | Promise<boolean> {
  return typeof carriesBytes === "function" ? carriesBytes() : carriesBytes === true;
}
