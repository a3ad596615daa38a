import type { Schema } from "../protocol/standard-schema.ts";

/** Which form of params a schema wants, and which name each position has. */
export type Shape =
  | { readonly form: "named"; readonly names: readonly string[] | undefined }
  | { readonly form: "positional" };

/** Read once, when the method is registered. */
export function shapeOf(schema: Schema, names: readonly string[] | undefined): Shape {
  if (names !== undefined) return { form: "named", names };
  const json = jsonSchemaOf(schema);
  if (json !== undefined) {
    if (json["type"] === "array") return { form: "positional" };
    return { form: "named", names: ownKeys(json["properties"]) };
  }
  // Before Standard JSON Schema, zod kept its members in `shape` and valibot in `entries`.
  const { shape, entries, items, type } = schema as {
    shape?: unknown;
    entries?: unknown;
    items?: unknown;
    type?: unknown;
  };
  if (Array.isArray(items) || type === "array" || type === "tuple") return { form: "positional" };
  return { form: "named", names: ownKeys(shape) ?? ownKeys(entries) };
}

function jsonSchemaOf(schema: Schema): Record<string, unknown> | undefined {
  try {
    return schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" });
  } catch {
    // Some types, such as dates, have no JSON Schema; names are then found another way.
    return undefined;
  }
}

function ownKeys(members: unknown): readonly string[] | undefined {
  return typeof members === "object" && members !== null ? Object.keys(members) : undefined;
}
