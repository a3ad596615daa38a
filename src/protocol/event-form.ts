import type { Params } from "./message.ts";

/** How messages are written as events. */
export interface EventForm {
  /** Undefined drops the notification. */
  notification(method: string, params: Params | undefined): string | undefined;
  /** Whether an empty event comes first, for clients that take ids from events only. */
  readonly primes?: boolean;
  /** The last events of the stream; `streamed` says whether items came before. */
  ending(reply: string | undefined, streamed: boolean): readonly string[];
}
