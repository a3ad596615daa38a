import type { CallOptions } from "../../client/outgoing-call.ts";
import type { Clock } from "../../protocol/clock.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import type { Implementation, LogLevel } from "../capabilities.ts";
import type { Meta } from "../meta-keys.ts";
import type { Progress } from "../results.ts";
import type { NegotiationOptions } from "./handshake.ts";
import type { InputHandlers } from "./input.ts";
import type { McpParams } from "./protocol-client.ts";

export interface LogMessage {
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: unknown;
}

export interface McpClientOptions extends Implementation, InputHandlers, NegotiationOptions {
  /** Receives log messages of the server. */
  readonly onLog?: (message: LogMessage) => void;
  /** Least severe level to receive. @default chosen by the server; none since 2026-07-28 */
  readonly logLevel?: LogLevel;
  /** Receives every notification of the server that does not belong to a call. */
  readonly onNotification?: (method: string, params: McpParams) => void;
  /** How long a request may take; each progress report restarts it. @default 60000 */
  readonly timeoutMs?: number;
  /** Whether results are cached for as long as the server allows. @default true */
  readonly cache?: boolean;
  /** Whether structured content must match the output schema of its tool. @default true */
  readonly checkOutput?: boolean;
  /** Wraps every request; the first is the outermost. */
  readonly use?: readonly Middleware[];
  /** Where failures that no call can report are logged. @default warnings and errors to the console */
  readonly log?: Log;
  /** Replaces the system clock, for tests. */
  readonly clock?: Clock;
}

export interface McpCallOptions extends Omit<CallOptions, "onProgress" | "onGap"> {
  /** Receives progress reports. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface ToolCallOptions extends McpCallOptions {
  /** Asks a server of 2025-11-25 to run the tool as a task; later servers decide themselves. */
  readonly task?: { readonly ttlMs?: number } | undefined;
  /** Members of your own in the `_meta` of the request. @default none */
  readonly meta?: Meta | undefined;
}

export type CompletionReference =
  | { readonly type: "ref/prompt"; readonly name: string }
  | { readonly type: "ref/resource"; readonly uri: string };

/** Converts to the call options of the core. */
export function callOptions(options: McpCallOptions | undefined): CallOptions | undefined {
  const { onProgress } = options ?? {};
  if (onProgress === undefined) return options as CallOptions | undefined;
  return { ...options, onProgress: (value) => onProgress(value as Progress) };
}
