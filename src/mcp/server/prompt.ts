import { jsonSchemaOf, type ToJsonSchema } from "../../openrpc/json-schema.ts";
import { jsonSchema } from "../../openrpc/json-schema-check.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import { defined } from "../../protocol/record.ts";
import type { OutputOf, Schema } from "../../protocol/standard-schema.ts";
import { Method } from "../../server/method.ts";
import type { Icon } from "../capabilities.ts";
import type { Meta } from "../meta-keys.ts";
import type { PromptArgument, PromptDescription, PromptMessage, PromptResult } from "../results.ts";
import type { McpCall } from "./mcp-call.ts";
import type { Complete } from "./resource.ts";
import { type AnySchema, schemaOf } from "./tool.ts";

export interface PromptDefinition {
  /** What users see instead of the name. */
  readonly title?: string;
  /** What the prompt does, in a sentence or two. */
  readonly description?: string;
  /** The arguments as they are listed, or a schema of an object of strings. */
  readonly arguments?: readonly PromptArgument[] | AnySchema;
  /** Suggests values while the user types, by the name of the argument. */
  readonly complete?: Readonly<Record<string, Complete>>;
  /** Images that hosts may show beside the title. */
  readonly icons?: readonly Icon[];
  /** Members of your own, sent to clients with the description. */
  readonly _meta?: Meta;
}

/** What a prompt returns: the user's message, several messages, or a whole result. */
export type PromptOutput = string | readonly PromptMessage[] | PromptResult;

type ArgumentsOf<D> = D extends { readonly arguments: infer S extends Schema }
  ? OutputOf<S>
  : Readonly<Record<string, string>>;

/** A message for the model, built from arguments that the user chose. */
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

/** A prompt, and the method behind it. */
export interface PromptFeature {
  readonly name: string;
  /** The name under which middleware sees it. */
  readonly method: string;
  readonly handler: Method;
  readonly description: PromptDescription;
  readonly complete: Readonly<Record<string, Complete>>;
}

export function promptFeature(
  name: string,
  { definition, get }: Prompt,
  toJsonSchema: ToJsonSchema | undefined,
): PromptFeature {
  const list = argumentsOf(definition, toJsonSchema);
  for (const argument of Object.keys(definition.complete ?? {})) {
    if (!list.some((each) => each.name === argument)) {
      throw new TypeError(`the prompt "${name}" has no argument ${argument} to complete`);
    }
  }
  const { arguments: given, title, description, icons, _meta } = definition;
  const params =
    given === undefined || isArguments(given)
      ? jsonSchema({
          type: "object",
          properties: Object.fromEntries(list.map((each) => [each.name, { type: "string" }])),
          required: list.filter((each) => each.required === true).map((each) => each.name),
        })
      : schemaOf(given);
  return {
    name,
    method: `prompts/${name}`,
    handler: new Method("method", { params }, get),
    description: {
      ...defined({ name, title, description, icons, _meta }),
      ...(list.length > 0 && { arguments: list }),
    },
    complete: definition.complete ?? {},
  };
}

function isArguments(
  given: readonly PromptArgument[] | AnySchema,
): given is readonly PromptArgument[] {
  return Array.isArray(given);
}

function argumentsOf(
  { arguments: given }: PromptDefinition,
  toJsonSchema: ToJsonSchema | undefined,
): readonly PromptArgument[] {
  if (given === undefined) return [];
  if (isArguments(given)) return given;
  const json = jsonSchemaOf(schemaOf(given), "input", toJsonSchema, "draft-2020-12");
  return Object.entries(json.properties ?? {}).map(([name, schema]) => {
    const { title, description } = typeof schema === "object" ? schema : {};
    return defined({ name, title, description, required: json.required?.includes(name) ?? false });
  });
}

/** The result for what a handler returned. */
export function promptResult(output: PromptOutput, description: string | undefined): PromptResult {
  const own = description === undefined ? {} : { description };
  if (typeof output === "string") {
    return { ...own, messages: [{ role: "user", content: { type: "text", text: output } }] };
  }
  return "messages" in output ? { ...own, ...output } : { ...own, messages: output };
}
