import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";
import type { Context } from "../../protocol/context.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import type { LogLevel } from "../capabilities.ts";
import type { RootsResult, SampleParams, SampleResult } from "../client-input.ts";
import type { Caller } from "./caller.ts";
import type { ToolOutput } from "./tool.ts";

/** What a form gives for a schema. */
export type FormContent<S> = S extends Schema ? OutputOf<S> : Readonly<Record<string, unknown>>;

/** How the user answered a form. */
export type Elicited<Content> =
  | { readonly action: "accept"; readonly content: Content }
  | { readonly action: "decline" | "cancel"; readonly content?: undefined };

export interface AskOptions {
  /**
   * Names the question among those of this call. Since 2026-07-28 a handler runs again from its
   * start with each answer, and finds its answers by these names. @default by the order of asking
   */
  readonly key?: string;
}

/**
 * What a handler that an agent reached knows of its call. In the modern era no server can call its
 * client: a question ends the run, and the handler runs again when the answer has come. So ask
 * before doing what must not be done twice. Questions that are asked together, in one
 * `Promise.all`, travel together.
 */
export interface McpCall extends Context {
  /** Who calls: revision, capabilities, name. */
  readonly client: Caller;
  /** Has the user fill in a form: a flat object of texts, numbers, booleans and choices. */
  elicit<S extends Schema | JsonSchemaObject>(
    message: string,
    schema: S,
    options?: AskOptions,
  ): Promise<Elicited<FormContent<S>>>;
  /** Has the user visit a page, for what must not pass through the client. */
  elicitUrl(
    message: string,
    url: string,
    options?: AskOptions & { readonly elicitationId?: string },
  ): Promise<{ readonly action: "accept" | "decline" | "cancel" }>;
  /** Asks the client's model. */
  sample(params: SampleParams, options?: AskOptions): Promise<SampleResult>;
  /** The folders that the client works in. */
  roots(options?: AskOptions): Promise<RootsResult["roots"]>;
  /** Tells the client something, if it wants to hear messages of this level. */
  message(level: LogLevel, data: unknown, logger?: string): void;
  /** Lets the client's stream end for now; it comes back for the rest. Only where it can. */
  releaseStream(): void;
  /** Goes on as a task where the client can ask about it later, otherwise at once. */
  task(run: (call: McpCall) => MaybePromise<ToolOutput>): MaybePromise<ToolOutput>;
}

/**
 * The call of an agent, for handlers that are called by others too.
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
