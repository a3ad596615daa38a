import { type JsonSchema, jsonSchemaOf } from "../openrpc/json-schema.ts";
import { jsonSchemaIssues } from "../openrpc/json-schema-check.ts";
import { namedArguments } from "../openrpc/named-arguments.ts";
import type { Method } from "../server/method.ts";

/** Params that the method accepts: its own example, or the simplest that its schema allows; undefined if none is known. */
export function exampleParams({ definition, parameters }: Method): unknown {
  const [example] = definition.examples ?? [];
  if (example !== undefined) return example.params ?? {};
  if (parameters === undefined && definition.params === undefined) return {};
  const schema =
    parameters === undefined
      ? jsonSchemaOf(definition.params as NonNullable<typeof definition.params>, "input")
      : namedArguments(parameters).schema;
  const params = sampleOf(schema, most);
  // Without patterns, because that of a library may not compile; a string that has one gets no sample.
  const issues = jsonSchemaIssues(schema, { patterns: false })(params);
  return issues.length === 0 ? params : undefined;
}

/** Schemas may be recursive, and demand any number of items. */
const most = 8;

function sampleOf(schema: JsonSchema | undefined, depth: number): unknown {
  if (typeof schema !== "object" || depth === 0) return 1;
  const { enum: choices, examples, properties = {}, required = [] } = schema;
  for (const known of [examples, choices]) if (Array.isArray(known)) return known[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  switch (schema.type) {
    case "string":
      return schema.pattern === undefined && schema.format === undefined ? "text" : undefined;
    case "boolean":
      return true;
    case "array":
      return Array(Math.min(schema.minItems ?? 0, most)).fill(
        sampleOf(itemsOf(schema.items), depth - 1),
      );
    case "object":
      return Object.fromEntries(
        required.map((name) => [name, sampleOf(properties[name], depth - 1)]),
      );
    case "null":
      return null;
    default:
      return schema.minimum ?? 1;
  }
}

/** The schema of all items; undefined if each has its own. */
function itemsOf(items: JsonSchema | readonly JsonSchema[] | undefined): JsonSchema | undefined {
  return Array.isArray(items) ? undefined : (items as JsonSchema | undefined);
}
