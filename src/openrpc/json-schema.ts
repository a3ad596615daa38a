import type { Schema } from "../protocol/standard-schema.ts";
import { zodOptions } from "./rich-schema.ts";

/** JSON Schema draft 7, which OpenRPC uses. */
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

/** Params are the input of a schema; results are its output. */
export type Direction = "input" | "output";

/** Converts a schema whose library has no JSON Schema output; undefined allows any value. */
export type ToJsonSchema = (schema: Schema, direction: Direction) => object | undefined;

/** The JSON Schema of a Standard Schema, as far as it is known. */
export function jsonSchemaOf(
  schema: Schema,
  direction: Direction,
  toJsonSchema?: ToJsonSchema,
  target: "draft-07" | "draft-2020-12" = "draft-07",
): JsonSchemaObject {
  const given =
    attempt(() => toJsonSchema?.(schema, direction)) ??
    attempt(() =>
      schema["~standard"].jsonSchema?.[direction](optionsOf(schema, direction, target)),
    );
  if (given !== undefined) return given as JsonSchemaObject;
  // One member without a JSON Schema, such as a Date, must not hide the others.
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
    required: known.filter(([, member]) => !isOptional(member)).map(([name]) => name),
    [target === "draft-07" ? "definitions" : "$defs"]: Object.fromEntries(definitions),
  };
}

/** OpenRPC describes rich values; the tools of MCP, in the newer draft, have none. */
function optionsOf(
  schema: Schema,
  direction: Direction,
  target: string,
): { readonly target: string; readonly libraryOptions?: Record<string, unknown> } {
  if (target !== "draft-07" || schema["~standard"].vendor !== "zod") return { target };
  return { target, libraryOptions: zodOptions(direction, jsonSchemaOf) };
}

/** Moves the definitions of a member to the root, where its references point; `{}` if that is ambiguous. */
function lifted(json: JsonSchemaObject, definitions: Map<string, JsonSchema>): JsonSchemaObject {
  const { definitions: older = {}, $defs: newer = {}, ...rest } = json;
  const own = { ...older, ...newer };
  const hasConflict = Object.entries(own).some(([name, schema]) => {
    const other = definitions.get(name);
    return other !== undefined && JSON.stringify(other) !== JSON.stringify(schema);
  });
  if (hasConflict || JSON.stringify(json).includes('"$ref":"#"')) return {};
  for (const [name, schema] of Object.entries(own)) definitions.set(name, schema);
  return rest;
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch {
    // Libraries throw for types that JSON Schema cannot express.
    return undefined;
  }
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && "~standard" in value;
}

function isOptional(schema: Schema): boolean {
  const checked = attempt(() => schema["~standard"].validate(undefined));
  return checked !== undefined && !(checked instanceof Promise) && checked.issues === undefined;
}

/**
 * The name of the component that a reference points to.
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

/** Decodes one part of a JSON pointer; some libraries do not encode it correctly. */
export function pointerKey(part: string): string {
  let key = part;
  try {
    key = decodeURIComponent(part);
  } catch {
    // A name with an unencoded percent sign.
  }
  return key.replaceAll("~1", "/").replaceAll("~0", "~");
}
