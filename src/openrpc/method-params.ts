import type { JsonSchema, JsonSchemaObject } from "./json-schema.ts";
import { pascal, type SharedSchemas, type Slot } from "./shared-schemas.ts";

/** The params of a method, separately as far as possible. */
export interface DescribedParams {
  readonly structure: "by-name" | "by-position" | "either";
  readonly list: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly slot: Slot;
  }[];
  /** All params as one value, if the list does not describe them completely. */
  readonly whole: Slot | undefined;
}

/** Splits the schema of all params into separate params. */
export function describeParams(
  json: JsonSchema,
  place: string,
  shared: SharedSchemas,
  positional: readonly string[] | undefined,
  keepsOrder: boolean,
): DescribedParams {
  const slot = shared.add(json, `${place}Params`, "input");
  const root = shared.resolve(slot.schema);
  if (typeof root !== "object") return { structure: "either", list: [], whole: slot };
  if (root.type === "array") return byPosition(root, place, shared, slot);
  if (root.type !== "object") return { structure: "either", list: [], whole: slot };
  const { properties = {}, required = [] } = root;
  const names = ordered(Object.keys(properties), positional);
  const members = names.map((name): [string, JsonSchema] => [
    place + pascal(name),
    Object.hasOwn(properties, name) ? (properties[name] as JsonSchema) : {},
  ]);
  const isClosed = root.patternProperties === undefined && !root.additionalProperties;
  const slots = members.map(([inner, schema]) => shared.place(schema, inner, "input"));
  if (isClosed) shared.drop(slot);
  return {
    structure: positional === undefined && !keepsOrder && names.length > 1 ? "by-name" : "either",
    list: slots.map((member, i) => ({
      name: names[i] as string,
      required: required.includes(names[i] as string),
      slot: member,
    })),
    whole: isClosed ? undefined : slot,
  };
}

function byPosition(
  root: JsonSchemaObject,
  place: string,
  shared: SharedSchemas,
  slot: Slot,
): DescribedParams {
  const { items = true, minItems = 0, additionalItems } = root;
  if (!Array.isArray(items)) return { structure: "by-position", list: [], whole: slot };
  const slots = (items as JsonSchema[]).map((item, i) =>
    shared.place(item, `${place}Arg${i + 1}`, "input"),
  );
  // Valibot does not state that its tuples accept no further items.
  const isClosed = additionalItems === undefined || additionalItems === false;
  if (isClosed) shared.drop(slot);
  return {
    structure: "by-position",
    list: slots.map((member, i) => ({ name: `arg${i + 1}`, required: i < minItems, slot: member })),
    whole: isClosed ? undefined : slot,
  };
}

/** Params with a position first, in that order. */
function ordered(names: readonly string[], positional: readonly string[] = []): string[] {
  return [...new Set([...positional, ...names])];
}
