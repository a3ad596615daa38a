import type { CallContext } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import type { Revision } from "../revisions.ts";
import type { Session } from "./session.ts";

/** The params of a request; MCP has them by name only. */
export type OperationParams = Readonly<Record<string, unknown>>;

/** Answers one method of MCP with its result; throws what the request fails with. */
export type Operation = (
  params: OperationParams,
  context: CallContext,
  caller: Caller,
) => MaybePromise<object>;

export type Operations = ReadonlyMap<string, Operation>;

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
