import type { AttachedReply, Attachments } from "./attachments.ts";
import type { BriefMap } from "./brief-map.ts";
import { WireError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { LinkedList } from "./linked-list.ts";
import type { HeldBytes } from "./memory-bounds.ts";
import type { ErrorObject, Id, Params } from "./message.ts";
import { networkOf } from "./network.ts";
import type { CallEntry } from "./origin-calls.ts";
import type { HttpRequestFacts } from "./seal.ts";
import type { Upload } from "./upload.ts";

/** The authenticated caller. */
export interface Principal {
  readonly id: string;
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  /** When it expires, in milliseconds since the epoch; a connection may outlive it. */
  readonly expiresAt?: number;
}

/** The client certificate of a TLS connection; its chain has been verified. */
export interface PeerCertificate {
  /** With their kinds, as in the certificate: `URI:spiffe://mesh/planner`, `DNS:planner.internal`. */
  readonly subjectAltNames: readonly string[];
  readonly commonName: string | undefined;
  /** SHA-256 of the certificate, in upper case with colons. */
  readonly fingerprint: string;
}

/** How a call arrived. */
export interface Transport {
  readonly kind: string;
  /** Header names in lower case; empty on wires without headers. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** One header, on wires where that takes less than to make `headers`. */
  header?(name: string): string | undefined;
  /** Identifies the connection that brought the call, to cache what is known about it. */
  readonly connection?: object | undefined;
  readonly remoteAddress: string | undefined;
  readonly remotePort?: number | undefined;
  /** How long the caller waits, if the wire carries that outside of the message. */
  readonly timeoutMs?: number | undefined;
  /** The client certificate, if the wire is TLS and one was requested. */
  readonly certificate?: PeerCertificate | undefined;
  /** The HTTP request that brought the call; created when first read. */
  readonly http?: HttpRequestFacts | undefined;
}

/** Options of a call back to the peer. */
export interface CallBackOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait. @default 60000, or until the signal aborts if there is one */
  readonly timeoutMs?: number | undefined;
}

/** The program at the other side of a connection. */
export interface Peer extends Link {
  /** Whether the wire carries notifications to this peer; plain HTTP does not, nor does a closed connection. */
  readonly canNotify: boolean;
  /** Whether it can grant credit for the items of a running call. @default false */
  readonly givesCredit?: boolean;
  /** The peer itself, if this is only the way back for one payload. @default this object */
  readonly end?: Peer | undefined;
  /** Calls a method of the peer; rejects if the wire cannot call back. */
  call(method: string, params?: Params, options?: CallBackOptions): Promise<unknown>;
  /** Sends a notification; false if the wire cannot carry one. */
  notify(method: string, params?: Params): boolean;
  /** Asks for `count` more items of the upload of a call; missing if the wire carries no uploads. */
  readonly grantUpload?: ((id: Id, count: number) => void) | undefined;
  /** Resolves when the connection is closed. */
  readonly closed: Promise<unknown>;
  /** Undefined while the wire accepts more; otherwise resolves when it does, or is closed. */
  ready(): Promise<void> | undefined;
}

const oneWay = (): Promise<never> =>
  Promise.reject(
    new WireError("UNSUPPORTED", "this wire cannot call back; use a duplex wire such as WebSocket"),
  );

/** A peer that cannot be called back, as over plain HTTP. */
export const unreachablePeer: Peer = {
  canNotify: false,
  closed: Promise.resolve(),
  ready: () => undefined,
  call: oneWay,
  notify: () => false,
  send: oneWay,
  sendBatch: (requests) => requests.map(oneWay),
  close: () => Promise.resolve(),
};

const nowhere: Transport = { kind: "direct", headers: {}, remoteAddress: undefined };

/** The running calls and streams of one peer, if each of its payloads has an origin of its own. */
export interface Usage {
  /** Whose share of the server's limits it uses. @default none: the limits of the server apply as a whole */
  readonly caller?: string | undefined;
  readonly inFlight: number;
  readonly openStreams: number;
  /** Adds to the number of running calls and open streams. */
  count(calls: number, streams: number): void;
}

let origins = 0;

/** The source of messages: one connection, one HTTP request, or one payload of a NATS caller. */
export class Origin implements Usage {
  readonly transport: Transport;
  readonly peer: Peer;
  principal: Principal | undefined = undefined;
  /** Number of its running calls. */
  inFlight = 0;
  /** Its running calls, listed once they are first asked for; most callers never cancel. */
  calls: LinkedList<CallEntry> | undefined = undefined;
  /** Its batches with entries that have not begun and may still be cancelled. */
  queues: Set<{ giveUp(id: Id): void }> | undefined = undefined;
  openStreams = 0;
  /** Memory that its calls hold, if it is a connection. */
  held: HeldBytes | undefined = undefined;
  readonly #maxInFlight: number;
  readonly #maxStreams: number;
  /** The peer to which the limits apply. */
  readonly #whole: Usage;
  /** Set when the connection broke. */
  aborted = false;
  /** The error of a call, or of every call of a batch; determines the HTTP status. */
  lastError: ErrorObject | undefined = undefined;
  /** Whether results are discarded, and only failures matter. */
  dropsResults = false;
  /** False once a method was called that opts out, because its replies hold secrets. */
  mayCompress = true;
  /** The bytes beside the call with this id; missing if its wire carries none. */
  attachments: ((id: Id | undefined) => Attachments | undefined) | undefined = undefined;
  /** Sends bytes beside the reply to a call; false if that is not possible, missing if it never is. */
  attach: ((reply: AttachedReply) => boolean) | undefined = undefined;
  /** Headers to send with the reply, on wires that have headers. */
  replyHeaders: Record<string, string> | undefined = undefined;
  /** State of a protocol on top, such as MCP; nothing here reads it. */
  session: object | undefined = undefined;
  /** Takes the credit for a stream, by the id of its call. */
  streams: BriefMap<Id, (credit: number) => void> | undefined = undefined;
  /** Takes the items that callers upload, by the id of their call. */
  uploads: BriefMap<Id, Upload> | undefined = undefined;
  #serial = 0;

  constructor(
    transport: Transport = nowhere,
    peer: Peer = unreachablePeer,
    limits?: { readonly maxInFlight: number; readonly maxStreams: number },
    whole?: Usage,
  ) {
    this.transport = transport;
    this.peer = peer;
    this.#maxInFlight = limits?.maxInFlight ?? Number.POSITIVE_INFINITY;
    this.#maxStreams = limits?.maxStreams ?? Number.POSITIVE_INFINITY;
    this.#whole = whole ?? this;
  }

  /** Whether it has reached its limit of running calls. */
  get isFull(): boolean {
    return this.#whole.inFlight >= this.#maxInFlight;
  }

  /** Whether it has reached its limit of open streams. */
  get hasAllStreams(): boolean {
    return this.#whole.openStreams >= this.#maxStreams;
  }

  /** Whose share of the server's limits its calls use: that of its address, unless the wire says otherwise. */
  get caller(): string | undefined {
    if (this.#whole !== this) return this.#whole.caller;
    const { remoteAddress } = this.transport;
    return remoteAddress === undefined ? undefined : networkOf(remoteAddress);
  }

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    if (this.#whole !== this) this.#whole.count(calls, streams);
  }

  /** A number unique in this process, which correlates log entries. */
  get serial(): number {
    if (this.#serial === 0) this.#serial = ++origins;
    return this.#serial;
  }
}
