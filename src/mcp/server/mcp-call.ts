import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";
import type { Context } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import type { LogLevel } from "../capabilities.ts";
import type { RootsResult, SampleParams, SampleResult } from "../client-input.ts";
import type { ClientDescription } from "./operation.ts";
import type { ToolOutput } from "./tool.ts";

/** The content of a form with this schema. */
export type FormContent<S> = S extends Schema ? OutputOf<S> : Readonly<Record<string, unknown>>;

/** How the user answered a form. */
export type Elicited<Content> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

export interface AskOptions {
  /**
   * Identifies the question within the call. Since 2026-07-28 a handler runs again from its start with
   * each answer, and finds its answers by these keys. @default the position among the questions
   */
  readonly key?: string;
}

/**
 * The call of a handler that an agent called. In the modern era a server cannot send requests to its
 * client: a question ends the run, and the handler runs again from its start with the answer. So ask
 * before doing anything that must not happen twice. Questions in one `Promise.all` are sent together.
 */
export interface McpCall extends Context {
  /** Revision, capabilities and name of the client. */
  readonly client: ClientDescription;
  /** Asks the user to fill in a form: a flat object of strings, numbers, booleans and choices. */
  elicit<S extends Schema | JsonSchemaObject>(
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<Elicited<FormContent<S>>>;
  /** Asks the user to visit a page, for data that must not pass through the client. */
  elicitUrl(
    message: string,
    url: string,
    options?: AskOptions & { readonly elicitationId?: string },
  ): Promise<{ readonly action: "accept" | "decline" | "cancel" }>;
  /** Asks the client's model. */
  sample(params: SampleParams, options?: AskOptions): Promise<SampleResult>;
  /** The folders that the client works in. */
  roots(options?: AskOptions): Promise<RootsResult["roots"]>;
  /** Sends a log message, if the client wants messages of this level. */
  message(level: LogLevel, data: unknown, logger?: string): void;
  /** Closes the client's event stream if the client can resume it later. */
  releaseStream(): void;
  /** Runs as a task if the client supports tasks, otherwise at once. */
  task(run: (call: McpCall) => MaybePromise<ToolOutput>): MaybePromise<ToolOutput>;
}

/**
 * The call as an `McpCall`; undefined if no agent called.
 * @example
 * ```ts
 * import { method } from "callwire";
 * import { mcpCall } from "callwire/mcp";
 *
 * // Other clients call this method too, and then there is no call of an agent.
 * const whoami = method({}, (_params, call) => mcpCall(call)?.client.info?.name ?? "not an agent");
 * ```
 */
export function mcpCall(call: Context): McpCall | undefined {
  return "client" in call ? (call as McpCall) : undefined;
}
