import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";

/** Keywords whose values are data, where `$ref` is a plain member. */
const dataKeywords = ["const", "enum", "default", "examples"];
/** Keywords whose values map names to schemas; a name may look like a keyword. */
const mapKeywords = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const localRef = /^#(?:\/|$)/;

/**
 * Rewrites a schema for use at a place inside another one: its references start at the root, so they must
 * now lead through that place.
 */
export function nestedSchema(place: string, schema: JsonSchemaObject): JsonSchemaObject {
  return nested(schema, place) as JsonSchemaObject;
}

function nested(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => nested(each, place));
  if (typeof schema !== "object" || schema === null) return schema;
  // A schema with an id is its own root.
  if ("$id" in schema) return schema;
  return mapMembers(schema, (member, keyword) => {
    if (dataKeywords.includes(keyword)) return member;
    if (keyword === "$ref" && localRef.test(String(member))) {
      return `#${place}${String(member).slice(1)}`;
    }
    return mapKeywords.includes(keyword)
      ? mapMembers(Object(member), (each) => nested(each, place))
      : nested(member, place);
  });
}

function mapMembers(
  object: object,
  change: (member: unknown, key: string) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(object).map(([key, member]) => [key, change(member, key)]),
  );
}
