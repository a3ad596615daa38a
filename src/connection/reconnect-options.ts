import type { Clock } from "../protocol/clock.ts";
import type { Connection } from "./connection.ts";

export interface ReconnectOptions {
  /** Most attempts to restore a lost connection before waiting calls fail. @default 10 */
  readonly attempts?: number;
  /** The wait before the second attempt; it doubles with each attempt. @default 100 */
  readonly delayMs?: number;
  /** The longest wait between attempts. @default 10000 */
  readonly maxDelayMs?: number;
  /** Runs on each new connection before any call is sent, such as a login. */
  readonly onConnect?: (connection: Connection) => unknown;
  /** Called when a working connection was lost. */
  readonly onLost?: (error: Error) => void;
  /**
   * Whether `open` can get other credentials, so that a connection that the server refused as unauthenticated is tried
   * once more. Without it a refusal is final until the next call. @default false, or true if the link has `credentials`
   */
  readonly renews?: boolean;
  /** Measures the waits; for tests. @default the system clock */
  readonly clock?: Clock;
  /** Returns 0 to 1; spreads the attempts of clients that lost the same server. @default Math.random */
  readonly random?: () => number;
}
