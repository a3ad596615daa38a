import type { CallContext } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { ClientCapabilities, Implementation, LogLevel } from "../capabilities.ts";
import type { Revision } from "../revisions.ts";
import type { Session } from "./session.ts";

/** The params of a request; MCP passes them by name only. */
export type OperationParams = Readonly<Record<string, unknown>>;

/** Implements one method of MCP: returns its result, or throws its error. */
export type Operation = (
  params: OperationParams,
  context: CallContext,
  caller: Caller,
) => MaybePromise<object>;

export type Operations = ReadonlyMap<string, Operation>;

/** How a client describes itself. */
export interface ClientDescription {
  readonly revision: Revision;
  readonly capabilities: ClientCapabilities;
  /** Its name and version; undefined if it did not send them. */
  readonly info: Implementation | undefined;
}

/** What is known about the client that sent a request. */
export interface Caller extends ClientDescription {
  /** Least severe log messages that it wants; undefined means none. */
  readonly logLevel: LogLevel | undefined;
  /** Set in the legacy era. */
  readonly session: Session | undefined;
}
