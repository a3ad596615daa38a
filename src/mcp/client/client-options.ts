import type { CallOptions } from "../../client/outgoing-call.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import type { Implementation, LogLevel } from "../capabilities.ts";
import type { McpParams } from "./conversation.ts";
import type { NegotiationOptions } from "./handshake.ts";
import type { InputHandlers } from "./input.ts";

export interface LogMessage {
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** How far a call is. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface McpClientOptions extends Implementation, InputHandlers, NegotiationOptions {
  /** Hears what servers log. */
  readonly onLog?: (message: LogMessage) => void;
  /** From which level on. @default what the server does by itself */
  readonly logLevel?: LogLevel;
  /** Hears every notification of the server that is about no call. */
  readonly onNotification?: (method: string, params: McpParams) => void;
  /** How long a request may take; each report of progress starts it anew. @default 60000 */
  readonly timeoutMs?: number;
  /** Whether results are kept for as long as the server allows. @default true */
  readonly cache?: boolean;
  /** Whether the structured content of tools must fit the schema that they were listed with. @default true */
  readonly checkOutput?: boolean;
  /** Wraps every request; the first sees it first. */
  readonly use?: readonly Middleware[];
  /** Where failures that no call can report are logged. @default warnings and errors to the console */
  readonly log?: Log;
  /** The clock of time-outs and caches, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

export interface McpCallOptions extends Omit<CallOptions, "onProgress" | "onGap"> {
  /** Hears how far the work is. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface ToolCallOptions extends McpCallOptions {
  /** Asks a server of 2025-11-25 to run the tool as a task; later servers decide that themselves. */
  readonly task?: { readonly ttlMs?: number } | undefined;
}

export type CompletionReference =
  | { readonly type: "ref/prompt"; readonly name: string }
  | { readonly type: "ref/resource"; readonly uri: string };

/** The options of a call as the core knows them. */
export function callOptions(options: McpCallOptions | undefined): CallOptions | undefined {
  const { onProgress } = options ?? {};
  if (onProgress === undefined) return options as CallOptions | undefined;
  return { ...options, onProgress: (value) => onProgress(value as Progress) };
}
