import type { ErrorObject } from "../protocol/message.ts";

/** What is wrong with bytes or text that arrived. */
export interface ChannelFault {
  readonly kind: "unreadable" | "oversize" | "refused";
  /** One sentence on what was wrong. */
  readonly message: string;
  /** What the other end is told of a message that was refused. */
  readonly error?: ErrorObject;
  /** The call that a refused message claims to be; a notification has no id. */
  readonly call?: { readonly id: unknown } | undefined;
}

/** Hears what a channel brings. */
export interface ChannelListener {
  message(text: string): void;
  /** Something arrived that is no message; the channel goes on. */
  fault(fault: ChannelFault): void;
  /** So many bytes came of a message whose end has not. */
  arriving?(bytes: number): void;
  /** The wire takes more again. */
  drain(): void;
  /** Nothing more comes, and nothing can be sent. Told once; the error says why if it was not on purpose. */
  end(error?: Error): void;
}

/** Why a channel is closed; wires with codes of their own, such as WebSocket, map it. */
export type CloseReason = "done" | "going-away" | "slow-reader" | "garbage" | "refused" | "dead";

/** A duplex pipe for text messages. */
export interface Channel {
  /** Hands one message to the wire. Messages of one turn of the event loop leave together. */
  send(text: string): void;
  /** Called once, before anything arrives. */
  listen(listener: ChannelListener): void;
  /** How much waits to be read by the other end. */
  readonly bufferedBytes: number;
  /** How much has come of a message whose end has not. @default 0 */
  readonly arrivingBytes?: number;
  /** Whether it takes no more messages in while too much waits, so that replies cannot pile up. */
  readonly holds?: boolean;
  /**
   * Stops reading until `resume`, so that the peer has to wait; a few messages that were read before may still come.
   * Wires that cannot make the peer wait leave both out.
   */
  readonly pause?: (() => void) | undefined;
  readonly resume?: (() => void) | undefined;
  /** Lets what was sent go out, then closes. */
  close(reason?: CloseReason): void;
}
