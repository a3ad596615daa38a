import type { Limits } from "./limits.ts";
import type { Log } from "./log.ts";
import type { ServerRunning } from "./server-running.ts";
import type { ValueCodec } from "./value-codec.ts";
import type { Watches } from "./watch.ts";

/** What all calls of a server share. */
export interface CallSettings {
  readonly log: Log;
  readonly running: ServerRunning;
  readonly limits: Limits;
  /** Timeout of a call, whatever its caller asks for. */
  readonly timeoutMs: number | undefined;
  readonly watch?: Watches | undefined;
  /** Defaults to the types that every peer knows. */
  readonly values?: ValueCodec | undefined;
}
