import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { Transport } from "../protocol/origin.ts";
import type { SealMaker } from "../protocol/seal.ts";
import type { Service } from "../protocol/service.ts";
import type { Tap } from "../protocol/tap.ts";
import type { Channel } from "./channel.ts";
import type { Decision } from "./connection-admission.ts";
import type { Notices } from "./notices.ts";

export interface ConnectionOptions {
  /** Answers the peer's calls; without it every call gets "Method not found". */
  readonly service?: Service | undefined;
  /** What handlers see as `call.transport`: the kind of wire, its headers, the address of the peer. */
  readonly transport: Transport;
  /** Limits on what the peer sends. @default those of the service */
  readonly limits?: Limits | undefined;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log | undefined;
  /**
   * The peer is disconnected after this many unreadable messages; one is forgotten each minute. Stops peers that
   * speak another protocol. @default 10
   */
  readonly maxStrikes?: number | undefined;
  /** The service's decision about the peer, if the wire has asked for it; otherwise it is asked now. */
  readonly decision?: { readonly value: Decision } | undefined;
  /** Signs and verifies each message. @default that of the service */
  readonly seal?: SealMaker | undefined;
  /** Observes every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Names of the notifications for cancelling and progress, instead of `$/cancelRequest` and `$/progress`. */
  readonly notices?: Notices | undefined;
}

export interface FinishOptions {
  /** How long running calls may take to finish. @default 10000 */
  readonly drainMs?: number | undefined;
  /** Whether the peer has closed its side, so that our calls cannot be answered. @default false */
  readonly deaf?: boolean | undefined;
}

/** Options of a client on wires that are a stream of bytes. */
export interface ConnectingOptions {
  /** Answers the peer's calls. @default none */
  readonly service?: Service | undefined;
  /** Limits on what the peer sends. @default those of the service */
  readonly limits?: Partial<Limits> | undefined;
  /** Where the connection logs. @default the log of the service, or the console */
  readonly log?: Log | undefined;
  /** Signs and verifies each message. @default that of the service */
  readonly seal?: SealMaker | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Wraps the channel before the connection uses it, for example to send invalid messages in a test. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

/** A character takes up to three bytes, and replies are limited by characters. */
const bytesPerCharacter = 3;

/** Longest message in bytes for a client, which receives replies too. */
export function maxIncomingBytes({ maxMessageBytes, maxReplyLength }: Limits): number {
  return Math.max(maxMessageBytes, bytesPerCharacter * maxReplyLength);
}
