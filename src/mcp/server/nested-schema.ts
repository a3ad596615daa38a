import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";

/** Keywords whose values are data, in which `$ref` is a name like any other. */
const dataKeywords = ["const", "enum", "default", "examples"];
/** Keywords whose values have schemas by names, which may be those of keywords. */
const mapKeywords = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];
const localRef = /^#(?:\/|$)/;

/**
 * A schema for a place inside of another one. Its references count from the root, which was itself before;
 * now they go through that place.
 */
export function nestedSchema(place: string, schema: JsonSchemaObject): JsonSchemaObject {
  return moved(schema, place) as JsonSchemaObject;
}

function moved(schema: unknown, place: string): unknown {
  if (Array.isArray(schema)) return schema.map((each) => moved(each, place));
  if (typeof schema !== "object" || schema === null) return schema;
  // What has an address of its own is its own root.
  if ("$id" in schema) return schema;
  return mapMembers(schema, (member, keyword) => {
    if (dataKeywords.includes(keyword)) return member;
    if (keyword === "$ref" && localRef.test(String(member))) {
      return `#${place}${String(member).slice(1)}`;
    }
    return mapKeywords.includes(keyword)
      ? mapMembers(Object(member), (each) => moved(each, place))
      : moved(member, place);
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
