import { jsonSchemaOf, type ToJsonSchema } from "../../openrpc/json-schema.ts";
import { Method } from "../../server/method.ts";
import type { PromptArgument, PromptDescription } from "../descriptions.ts";
import { jsonSchema } from "../json-schema.ts";
import type { PromptResult } from "../results.ts";
import type { Prompt, PromptDefinition, PromptOutput } from "./prompt.ts";
import type { Complete } from "./resource.ts";
import { type AnySchema, schemaOf } from "./tool.ts";

/** A prompt, and the method that makes it. */
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
  const given = definition.arguments;
  const params =
    given === undefined || isList(given)
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
      name,
      ...(definition.title !== undefined && { title: definition.title }),
      ...(definition.description !== undefined && { description: definition.description }),
      ...(list.length > 0 && { arguments: list }),
      ...(definition.icons !== undefined && { icons: definition.icons }),
      ...(definition._meta !== undefined && { _meta: definition._meta }),
    },
    complete: definition.complete ?? {},
  };
}

function isList(given: readonly PromptArgument[] | AnySchema): given is readonly PromptArgument[] {
  return Array.isArray(given);
}

function argumentsOf(
  { arguments: given }: PromptDefinition,
  toJsonSchema: ToJsonSchema | undefined,
): readonly PromptArgument[] {
  if (given === undefined) return [];
  if (isList(given)) return given;
  const json = jsonSchemaOf(schemaOf(given), "input", toJsonSchema, "draft-2020-12");
  return Object.entries(json.properties ?? {}).map(([name, schema]) => {
    const { title, description } = typeof schema === "object" ? schema : {};
    return {
      name,
      ...(title !== undefined && { title }),
      ...(description !== undefined && { description }),
      required: json.required?.includes(name) ?? false,
    };
  });
}

/** What a handler gave, as it travels. */
export function promptResult(output: PromptOutput, description: string | undefined): PromptResult {
  const own = description === undefined ? {} : { description };
  if (typeof output === "string") {
    return { ...own, messages: [{ role: "user", content: { type: "text", text: output } }] };
  }
  return "messages" in output ? { ...own, ...output } : { ...own, messages: output };
}
