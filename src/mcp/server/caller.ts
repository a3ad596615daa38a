import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import type { Revision } from "../revisions.ts";
import type { Session } from "./session.ts";

/** The client behind a request, as far as it told about itself. */
export interface Caller {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  readonly info: Implementation | undefined;
  /** The least severe messages that it wants to hear; undefined wants none. */
  readonly logLevel: LogLevel | undefined;
  /** Where the revision has sessions. */
  readonly session: Session | undefined;
}
