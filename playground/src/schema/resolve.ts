import { componentOf, type JsonSchema, type JsonSchemaObject } from "callwire/openrpc";

/** The schemas that references of a document point to. */
export type Components = Readonly<Record<string, JsonSchema>>;

/** Longest chain of references that is followed; a circle has no end. */
const longestChain = 16;

/** Follows references to the schema itself; `true` and dead references allow anything. */
export function resolved(schema: JsonSchema | undefined, components: Components): JsonSchemaObject {
  let found: unknown = schema;
  for (let i = 0; i < longestChain; i++) {
    if (found === false) return { not: {} };
    if (!isObject(found)) return {};
    const { $ref } = found;
    if ($ref === undefined) return wellFormed(found);
    const key = componentOf(String($ref)) ?? "";
    if (!Object.hasOwn(components, key)) return {};
    found = components[key];
  }
  return {};
}

/** Without members of the wrong form, such as `required: true` of older drafts, which some servers send. */
function wellFormed(schema: JsonSchemaObject): JsonSchemaObject {
  const { properties, required, ...others } = schema;
  const isFine = properties === undefined || isObject(properties);
  if (isFine && (required === undefined || Array.isArray(required))) return schema;
  return {
    ...others,
    ...(isObject(properties) && { properties: properties as Components }),
    ...(Array.isArray(required) && { required }),
  };
}

export function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The alternatives of a union; undefined if the schema is not one. */
export function variantsOf(schema: JsonSchemaObject): readonly JsonSchema[] | undefined {
  const variants = schema.anyOf ?? schema.oneOf;
  return Array.isArray(variants) && variants.length > 0 ? (variants as JsonSchema[]) : undefined;
}

/** The values that a schema lists, if it does. */
export function choicesOf(schema: JsonSchemaObject): readonly unknown[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum;
  return "const" in schema ? [schema.const] : undefined;
}

/** Types of values that the form fills in with a file. */
export const fileTypes: ReadonlySet<unknown> = new Set([
  "file",
  "blob",
  "stream",
  "bytes",
  "buffer",
]);

/** The names of the types that a schema allows; empty if it names none. */
export function typesOf(schema: JsonSchemaObject): readonly string[] {
  if (Array.isArray(schema.type)) return schema.type as readonly string[];
  if (typeof schema.type === "string") return [schema.type];
  if (schema.properties !== undefined) return ["object"];
  return schema.items === undefined ? [] : ["array"];
}
