import type { Schema } from "../protocol/standard-schema.ts";
import { pointerKey } from "./pointer-key.ts";

/** JSON Schema of draft 7, which is what OpenRPC has. */
export type JsonSchema = boolean | JsonSchemaObject;

export interface JsonSchemaObject {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly title?: string;
  readonly description?: string;
  readonly deprecated?: boolean;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: JsonSchema;
  readonly items?: JsonSchema | readonly JsonSchema[];
  readonly minItems?: number;
  readonly definitions?: Readonly<Record<string, JsonSchema>>;
  readonly $defs?: Readonly<Record<string, JsonSchema>>;
  readonly [keyword: string]: unknown;
}

/** What a caller sends is the input of a schema; what it gets is the output. */
export type Direction = "input" | "output";

/** Gives the JSON Schema of a schema whose library has none of its own; undefined leaves it open. */
export type ToJsonSchema = (schema: Schema, direction: Direction) => object | undefined;

/** The JSON Schema of a Standard Schema, or as much of it as can be found out. */
export function jsonSchemaOf(
  schema: Schema,
  direction: Direction,
  toJsonSchema: ToJsonSchema | undefined,
  target: "draft-07" | "draft-2020-12" = "draft-07",
): JsonSchemaObject {
  const given =
    attempt(() => toJsonSchema?.(schema, direction)) ??
    attempt(() => schema["~standard"].jsonSchema?.[direction]({ target }));
  if (given !== undefined) return given as JsonSchemaObject;
  // One member without a JSON Schema, such as a date, must not hide the others.
  const { shape, entries } = schema as { shape?: unknown; entries?: unknown };
  const members = shape ?? entries;
  if (typeof members !== "object" || members === null) return {};
  const known = Object.entries(members).filter((member): member is [string, Schema] =>
    isSchema(member[1]),
  );
  const definitions = new Map<string, JsonSchema>();
  const properties = known.map(([name, member]) => {
    const { $schema, ...json } = jsonSchemaOf(member, direction, toJsonSchema, target);
    return [name, lifted(json, definitions)] as const;
  });
  return {
    type: "object",
    properties: Object.fromEntries(properties),
    required: known.filter(([, member]) => !takesNothing(member)).map(([name]) => name),
    [target === "draft-07" ? "definitions" : "$defs"]: Object.fromEntries(definitions),
  };
}

/** Moves the definitions of a member to where its references look for them, as far as that is clear. */
function lifted(json: JsonSchemaObject, definitions: Map<string, JsonSchema>): JsonSchemaObject {
  const { definitions: older = {}, $defs: newer = {}, ...rest } = json;
  const own = { ...older, ...newer };
  const isAlone = Object.entries(own).some(([name, schema]) => {
    const other = definitions.get(name);
    return other !== undefined && JSON.stringify(other) !== JSON.stringify(schema);
  });
  if (isAlone || JSON.stringify(json).includes('"$ref":"#"')) return {};
  for (const [name, schema] of Object.entries(own)) definitions.set(name, schema);
  return rest;
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // Libraries throw for types that JSON Schema cannot tell.
    return undefined;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && "~standard" in value;
}

function takesNothing(schema: Schema): boolean {
  const checked = attempt(() => schema["~standard"].validate(undefined));
  return checked !== undefined && !(checked instanceof Promise) && checked.issues === undefined;
}

/**
 * The name of the component that a reference points at.
 * @example
 * ```ts
 * import { componentOf } from "callwire/openrpc";
 *
 * console.log(componentOf("#/components/schemas/User")); // User
 * ```
 */
export function componentOf(ref: string): string | undefined {
  const [, name] = /^#\/components\/schemas\/([^/]+)$/.exec(ref) ?? [];
  return name === undefined ? undefined : pointerKey(name);
}
