import type { Limits } from "../protocol/limits.ts";
import type { Log } from "../protocol/log.ts";
import type { SealMaker } from "../protocol/seal.ts";
import type { Service } from "../protocol/service.ts";
import type { Tap } from "../protocol/tap.ts";
import type { Channel } from "./channel.ts";

/** What the end that connects may say, on every wire that is a stream of bytes. */
export interface EndOptions {
  /** Answers what the other end calls. */
  readonly service?: Service | undefined;
  /** Limits on what the other end sends. */
  readonly limits?: Partial<Limits> | undefined;
  /**
   * Where failures that no call can report are logged. @default the service's, else warnings and errors to the
   * console
   */
  readonly log?: Log | undefined;
  /** Signs and checks each message; that of the service where there is one. */
  readonly seal?: SealMaker | undefined;
  /** Sees every message that is sent or received. */
  readonly tap?: Tap | undefined;
  /** Wraps the channel before the connection has it, such as to send texts that no client would. */
  readonly wrapChannel?: ((channel: Channel) => Channel) | undefined;
}

/** A character takes up to three bytes, and replies are limited by their characters. */
const bytesPerCharacter = 3;

/** How many bytes a message may have for an end that gets replies too. */
export function longestMessage({ maxMessageBytes, maxReplyLength }: Limits): number {
  return Math.max(maxMessageBytes, bytesPerCharacter * maxReplyLength);
}
