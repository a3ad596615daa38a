import type { BriefMap } from "./brief-map.ts";
import { WireError } from "./errors.ts";
import type { Link } from "./link.ts";
import type { LinkedList } from "./linked-list.ts";
import type { HeldBytes } from "./memory-bounds.ts";
import type { ErrorObject, Id, Params } from "./message.ts";
import type { CallEntry } from "./origin-calls.ts";
import type { HttpRequestFacts } from "./seal.ts";

/** Who calls. */
export interface Principal {
  readonly id: string;
  readonly roles?: readonly string[];
  readonly scopes?: readonly string[];
  readonly claims?: Readonly<Record<string, unknown>>;
  /** When this ceases to be so, in milliseconds since the epoch; a connection may outlive it. */
  readonly expiresAt?: number;
}

/** What a caller proved with TLS; the chain has been verified. */
export interface PeerCertificate {
  /** As in the certificate, with their kinds: `URI:spiffe://mesh/planner`, `DNS:planner.internal`. */
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
  /** Stands for the connection that brought the call, where it brings many; to keep what is known of it. */
  readonly connection?: object | undefined;
  readonly remoteAddress: string | undefined;
  /** How long the caller waits, where the wire says it outside the message. */
  readonly timeoutMs?: number | undefined;
  /** What the caller showed, where the wire is TLS and asked for it. */
  readonly certificate?: PeerCertificate | undefined;
  /** The request that brought the call, where the wire is HTTP; made when it is first read. */
  readonly http?: HttpRequestFacts | undefined;
}

/** How long a call back may take. */
export interface CallBackOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long to wait. @default 60000, or until the signal aborts where there is one */
  readonly timeoutMs?: number | undefined;
}

/** The other end of a wire. */
export interface Peer extends Link {
  /** Whether the wire carries notifications to this peer; plain HTTP does not, and none that is closed does. */
  readonly canNotify: boolean;
  /** Whether it can give credit for the items of a call that runs. @default false */
  readonly givesCredit?: boolean;
  /** The other end as a whole, where this is only the way back for one payload. @default itself */
  readonly end?: Peer | undefined;
  /** Calls a method of the other end; rejects where the wire cannot call back. */
  call(method: string, params?: Params, options?: CallBackOptions): Promise<unknown>;
  /** Hands a notification to the wire; false where it cannot carry one. */
  notify(method: string, params?: Params): boolean;
  /** Resolves when the other end is gone. */
  readonly closed: Promise<unknown>;
  /** Undefined while the wire takes more; otherwise resolves when it does, or is gone. */
  ready(): Promise<void> | undefined;
}

/** A peer behind a wire that only answers, such as plain HTTP. */
export const unreachablePeer: Peer = {
  canNotify: false,
  closed: Promise.resolve(),
  ready: () => undefined,
  call: () => Promise.reject(oneWay()),
  notify: () => false,
  send: () => Promise.reject(oneWay()),
  sendBatch: (requests) => requests.map(() => Promise.reject(oneWay())),
  close: () => Promise.resolve(),
};

function oneWay(): WireError {
  return new WireError("UNSUPPORTED", "this wire cannot call back; use a duplex one");
}

const nowhere: Transport = { kind: "direct", headers: {}, remoteAddress: undefined };

/** What one other end has under way, where each of its payloads has an origin of its own. */
export interface Usage {
  readonly inFlight: number;
  readonly openStreams: number;
  /** So many more calls and streams, or fewer. */
  count(calls: number, streams: number): void;
}

let origins = 0;

/** Where messages come from: one connection, one HTTP request, or one payload of a caller on NATS. */
export class Origin implements Usage {
  readonly transport: Transport;
  readonly peer: Peer;
  principal: Principal | undefined = undefined;
  /** How many of its calls are running. */
  inFlight = 0;
  /** Those calls, from when somebody first asks for them; most callers give up none. */
  calls: LinkedList<CallEntry> | undefined = undefined;
  /** Its batches with entries that have not begun, which may be given up all the same. */
  queues: Set<{ giveUp(id: Id): void }> | undefined = undefined;
  openStreams = 0;
  /** Memory that its calls hold, where it is a connection. */
  held: HeldBytes | undefined = undefined;
  readonly #maxInFlight: number;
  readonly #maxStreams: number;
  /** Whoever the limits hold for. */
  readonly #whole: Usage;
  /** Set when the wire broke. */
  aborted = false;
  /** The error of a call, or of all calls of a batch; HTTP takes its status from it. */
  lastError: ErrorObject | undefined = undefined;
  /** Whether nobody reads what its calls come to, only whether they failed. */
  dropsResults = false;
  /** Sent with the reply on wires that have headers. */
  replyHeaders: Record<string, string> | undefined = undefined;
  /** What a profile such as MCP keeps of this end; nothing here reads it. */
  session: object | undefined = undefined;
  /** Who hears of credit, by the id of the stream's call. */
  streams: BriefMap<Id, (credit: number) => void> | undefined = undefined;
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

  /** Whether no more calls may run for it. */
  get isFull(): boolean {
    return this.#whole.inFlight >= this.#maxInFlight;
  }

  /** Whether no more streams may be open for it. */
  get hasAllStreams(): boolean {
    return this.#whole.openStreams >= this.#maxStreams;
  }

  count(calls: number, streams: number): void {
    this.inFlight += calls;
    this.openStreams += streams;
    if (this.#whole !== this) this.#whole.count(calls, streams);
  }

  /** A number that no other origin of this process has; logs tell by it what came together. */
  get serial(): number {
    if (this.#serial === 0) this.#serial = ++origins;
    return this.#serial;
  }
}
