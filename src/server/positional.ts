import type { Schema } from "../protocol/standard-schema.ts";

/** The form of params that a schema expects, and the names of positions. */
export type Shape =
  | { readonly form: "named"; readonly names: readonly string[] | undefined }
  | { readonly form: "positional" }
  /** A schema for anything, or for one of several forms, gets the params as sent. */
  | { readonly form: "either" };

/** Determined once, when the method is registered. */
export function shapeOf(schema: Schema, names: readonly string[] | undefined): Shape {
  if (names !== undefined) return { form: "named", names };
  const json = jsonSchemaOf(schema);
  if (json !== undefined) {
    if (json.type === "array") return { form: "positional" };
    if (json.type !== "object") return { form: "either" };
    const properties = ownKeys(json.properties);
    return { form: "named", names: keepsOrder(schema, properties) ? properties : undefined };
  }
  // Before Standard JSON Schema, zod kept its members in `shape` and valibot in `entries`.
  const { shape, entries, items, type } = schema as {
    shape?: unknown;
    entries?: unknown;
    items?: unknown;
    type?: unknown;
  };
  if (Array.isArray(items) || type === "array" || type === "tuple") return { form: "positional" };
  const members = ownKeys(shape) ?? ownKeys(entries);
  return members === undefined ? { form: "either" } : { form: "named", names: members };
}

/** The scalar JSON type of a schema, which params cannot have. */
export function scalarType(schema: Schema): string | undefined {
  const type = jsonSchemaOf(schema)?.type;
  return typeof type === "string" && scalars.has(type) ? type : undefined;
}

const scalars: ReadonlySet<string> = new Set(["string", "number", "integer", "boolean"]);

/** Arktype sorts its members by name, which as positions would swap arguments. */
function keepsOrder(schema: Schema, members: readonly string[] = []): boolean {
  return schema["~standard"].vendor !== "arktype" || members.length < 2;
}

function jsonSchemaOf(schema: Schema): Record<string, unknown> | undefined {
  try {
    return rootOf(schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" }));
  } catch {
    // Some types, such as dates, have no JSON Schema; names are found another way then.
    return undefined;
  }
}

/** Zod puts a type with an id into `$defs` and refers to it from the root. */
function rootOf(json: Record<string, unknown> | undefined): Record<string, unknown> | undefined {
  const { $ref, $defs } = json ?? {};
  const [, name = ""] = /^#\/\$defs\/([^/]+)$/.exec(String($ref)) ?? [];
  const definitions = ($defs ?? {}) as Record<string, Record<string, unknown>>;
  return Object.hasOwn(definitions, name) ? definitions[name] : json;
}

function ownKeys(members: unknown): readonly string[] | undefined {
  return typeof members === "object" && members !== null ? Object.keys(members) : undefined;
}
