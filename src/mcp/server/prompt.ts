import type { MaybePromise } from "../../protocol/message.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import type { Icon } from "../capabilities.ts";
import type { PromptArgument } from "../descriptions.ts";
import type { Meta } from "../meta-keys.ts";
import type { PromptMessage, PromptResult } from "../results.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Complete } from "./resource.ts";
import type { AnySchema } from "./tool.ts";

export interface PromptDefinition {
  /** What users see in place of the name. */
  readonly title?: string;
  /** What the prompt does, in a sentence or two. */
  readonly description?: string;
  /** A list as it is shown, or a schema of an object of texts. */
  readonly arguments?: readonly PromptArgument[] | AnySchema;
  /** Suggests values while the user types, by the name of the argument. */
  readonly complete?: Readonly<Record<string, Complete>>;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Members of your own, sent to clients with the description. */
  readonly _meta?: Meta;
}

/** What a prompt answers with: what the user says, messages, or a whole result. */
export type PromptOutput = string | readonly PromptMessage[] | PromptResult;

type ArgumentsOf<D> = D extends { readonly arguments: infer S extends Schema }
  ? OutputOf<S>
  : Readonly<Record<string, string>>;

/** A text for the model, made of arguments that the user chose. */
export interface Prompt {
  readonly definition: PromptDefinition;
  readonly get: (args: never, call: McpCall) => MaybePromise<PromptOutput>;
}

/**
 * Defines a prompt: `get` makes its messages from the arguments that the user chose.
 * @example
 * ```ts
 * import { mcpServer, prompt } from "callwire/mcp";
 * import { z } from "zod";
 *
 * const summarize = prompt(
 *   { description: "Sum up a text", arguments: z.object({ style: z.string() }) },
 *   ({ style }) => `Sum up the text above in the style of ${style}.`,
 * );
 * const agents = mcpServer({}, { name: "writer", version: "1.0.0", prompts: { summarize } });
 * ```
 */
export function prompt<const D extends PromptDefinition>(
  definition: D,
  get: (args: ArgumentsOf<D>, call: McpCall) => MaybePromise<PromptOutput>,
): Prompt {
  return { definition, get };
}
