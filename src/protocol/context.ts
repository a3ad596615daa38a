import type { Attachments } from "./attachments.ts";
import type { Limits } from "./limits.ts";
import type { Outgoing } from "./link.ts";
import type { Log } from "./log.ts";
import type { ErrorObject, Id, Params, Request } from "./message.ts";
import type { Origin, Peer, Principal, Transport } from "./origin.ts";
import type { ValueCodec } from "./value-codec.ts";
import type { Watches } from "./watch.ts";

/** What handlers and middleware know about a call besides its params. */
export interface Context<Progress = unknown> {
  readonly id: Id | undefined;
  readonly method: string;
  /** Aborts when the caller cancels, the call times out, or the connection breaks. */
  readonly signal: AbortSignal;
  /**
   * When the call times out, in milliseconds since the epoch. Progress moves it if the caller set the timeout; changing
   * the system clock moves it too, but not the time that the call has left.
   */
  readonly deadline: number | undefined;
  /** The peer that made the call; on a duplex wire it can be called back. Missing on a client. */
  readonly peer: Peer;
  /** The authenticated caller; set by authentication. */
  principal: Principal | undefined;
  readonly transport: Transport;
  readonly log: Log;
  /** Reports progress to the caller; dropped if the wire cannot carry it. */
  progress(value: Progress): void;
  /** Sends the caller a notification; false if the wire cannot carry one. */
  notify(method: string, params?: Params): boolean;
  /** Why the call was answered before its handler finished: it timed out, was cancelled, or its connection broke. */
  readonly ended?: ErrorObject | undefined;
  /** Replaces the server's `timeoutMs` for this call. Missing on a client. */
  limit?(limitMs: number): void;
  /** This call as the library sees it on a server; undefined on a client. Internal. */
  readonly incoming?: CallContext | undefined;
  /** This call as the link sees it on a client; undefined on a server. */
  readonly outgoing?: Outgoing | undefined;
  /** What a protocol on top of JSON-RPC, such as MCP, reports about the call to logs, metrics and traces. */
  readonly facts?: CallFacts | undefined;
}

/** A call of a protocol on top of JSON-RPC, by the conventions for that protocol. */
export interface CallFacts {
  /** The name of its span. */
  readonly name: string;
  /** Attributes of its span. */
  readonly attributes: Readonly<Record<string, string>>;
  /** Those of its metrics, which have few values. */
  readonly labels: Readonly<Record<string, string>>;
  /** The protocol, with which the names of its metrics begin. */
  readonly protocol: string;
  /** W3C baggage that came with it. */
  readonly baggage?: string | undefined;
  /** The type of a failure that is reported as a result. */
  failureIn(result: unknown): string | undefined;
}

/** What the router, the gateway and the library's own middleware need of a call that a server answers. */
export interface CallContext extends Context {
  readonly request: Request;
  readonly origin: Origin;
  /** Undefined if nothing observes this server. */
  readonly watch: Watches | undefined;
  readonly ended: ErrorObject | undefined;
  limit(limitMs: number): void;
  /** Whether the call has begun to stream items. */
  readonly isStream: boolean;
  beginStream(): void;
  /** The call lasts until someone ends it; a server that closes does so at once, with `unsubscribe` if that is given. */
  subscribe(unsubscribe?: () => void): void;
  /** Runs if the call ends before its handler is done; costs a hundredth of an AbortSignal. */
  onEnded(run: () => void): void;
  /** The bytes that came beside its message. */
  readonly attachments: Attachments | undefined;
  readonly limits: Limits;
  /** The types of rich values that this server knows. */
  readonly values: ValueCodec;
  /** Counts memory that the call holds besides its message, or releases it; false if that is too much. */
  hold(bytes: number): boolean;
  /** The same for memory that is released when the handler is done. */
  holdToEnd(bytes: number): boolean;
  /** The caller was sent progress, which restarts its own timeout but not the server's. */
  progressSent(): void;
}
