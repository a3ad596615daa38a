import type { ErrorObject } from "../protocol/message.ts";

/** What is wrong with data that arrived. */
export interface ChannelFault {
  readonly kind: "unreadable" | "oversize" | "refused";
  /** What was wrong, in one sentence. */
  readonly message: string;
  /** Whether nothing more can be read, so that the channel closes. @default false */
  readonly isFatal?: boolean;
  /** The error to send for a refused message. */
  readonly error?: ErrorObject;
  /** The call that a refused message claims to be; a notification has no id. */
  readonly call?: { readonly id: unknown } | undefined;
}

/** Receives the events of a channel. */
export interface ChannelListener {
  message(text: string): void;
  /** A frame of bytes arrived, which may be reused afterwards; a fault if this is missing. */
  bytes?(frame: Uint8Array): void;
  /** Something arrived that is not a message; the channel stays open, unless the fault is fatal. */
  fault(fault: ChannelFault): void;
  /** This many more bytes arrived of an incomplete message. */
  arriving?(bytes: number): void;
  /** The wire accepts more again. */
  drain(): void;
  /** The channel closed; called once, with an error unless it was closed on purpose. */
  end(error?: Error): void;
}

/** Why a channel is closed; wires with their own codes, such as WebSocket, map it. */
export type CloseReason = "done" | "going-away" | "slow-reader" | "garbage" | "refused" | "dead";

/** A duplex pipe of messages, each a string. */
export interface Channel {
  /** Sends one message. Messages of one turn of the event loop leave together. */
  send(text: string): void;
  /** Sends one frame of bytes, of at most 64 KiB and a header. Wires that carry nothing but strings leave it out. */
  readonly sendBytes?: ((frame: Uint8Array) => void) | undefined;
  /** Called once, before anything arrives. */
  listen(listener: ChannelListener): void;
  /** Bytes that the peer has not read. */
  readonly bufferedBytes: number;
  /** Bytes received of an incomplete message. @default 0 */
  readonly arrivingBytes?: number;
  /** Whether it stops reading while too much is unsent, so that replies cannot pile up. */
  readonly holds?: boolean;
  /**
   * Stops reading until `resume`, so that the peer has to wait; a few messages that were read before may still be
   * delivered. Wires that cannot make the peer wait leave both out.
   */
  readonly pause?: (() => void) | undefined;
  readonly resume?: (() => void) | undefined;
  /** Sends what is queued, then closes. */
  close(reason?: CloseReason): void;
}
