import type { JsonSchema, JsonSchemaObject } from "callwire/openrpc";
import { Patience } from "./patience.ts";
import { type Components, choicesOf, isObject, resolved, typesOf, variantsOf } from "./resolve.ts";

/** What is wrong with a value, and where. */
export interface Fault {
  readonly path: readonly (string | number)[];
  readonly message: string;
  /** Whether the server reported it, and not the schema. */
  readonly fromServer?: true;
}

/** Deeper values are checked by the server only. */
const deepest = 32;

/** Checks a value against a JSON Schema, as far as that helps people who fill in a form. */
export function faultsOf(value: unknown, schema: JsonSchema, components: Components): Fault[] {
  return check(value, schema, { components, patience: new Patience(50_000) }, []);
}

interface Checking {
  readonly components: Components;
  readonly patience: Patience;
}

function check(
  value: unknown,
  given: JsonSchema,
  checking: Checking,
  path: readonly (string | number)[],
): Fault[] {
  if (path.length > deepest || checking.patience.isOver()) return [];
  const schema = resolved(given, checking.components);
  const fault = (message: string): Fault[] => [{ path, message }];
  const choices = choicesOf(schema);
  if (choices !== undefined && !choices.some((choice) => isSame(choice, value))) {
    const listed = choices.map((choice) => JSON.stringify(choice));
    return fault(`must be ${listed.length === 1 ? listed[0] : `one of ${listed.join(", ")}`}`);
  }
  const types = typesOf(schema);
  if (types.length > 0 && !types.some((type) => isOf(type, value))) {
    return fault(`must be ${types.map(named).join(" or ")}`);
  }
  const faults: Fault[] = [];
  const variants = variantsOf(schema);
  if (variants !== undefined) {
    const tried = variants.map((variant) => check(value, variant, checking, path));
    if (tried.every((found) => found.length > 0)) faults.push(...nearest(tried, path));
  }
  for (const part of Array.isArray(schema.allOf) ? (schema.allOf as JsonSchema[]) : []) {
    faults.push(...check(value, part, checking, path));
  }
  if (isObject(schema.not) || schema.not === true) {
    const isFree = check(value, schema.not as JsonSchema, checking, path).length > 0;
    // A check that ran out of steps finds no faults, which proves nothing.
    if (!isFree && !checking.patience.isOver()) {
      faults.push(...fault("is not allowed"));
    }
  }
  if (typeof value === "number") faults.push(...numberFaults(value, schema).flatMap(fault));
  else if (typeof value === "string") faults.push(...textFaults(value, schema).flatMap(fault));
  else if (Array.isArray(value)) faults.push(...listFaults(value, schema, checking, path));
  else if (isObject(value)) faults.push(...memberFaults(value, schema, checking, path));
  return faults;
}

/** The faults of the alternative that fits best, which help most. */
function nearest(tried: readonly Fault[][], path: readonly (string | number)[]): Fault[] {
  const deep = tried
    .filter((faults) => faults.every((fault) => fault.path.length > path.length))
    .sort((a, b) => a.length - b.length)[0];
  if (deep !== undefined) return deep;
  const sentences = new Set(tried.map(([first]) => first?.message ?? ""));
  return [{ path, message: [...sentences].join(", or ").replaceAll(", or must be", ", or") }];
}

function numberFaults(value: number, schema: JsonSchemaObject): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const faults: string[] = [];
  if (typeof minimum === "number" && value < minimum) faults.push(`must be at least ${minimum}`);
  if (typeof maximum === "number" && value > maximum) faults.push(`must be at most ${maximum}`);
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) {
    faults.push(`must be more than ${exclusiveMinimum}`);
  }
  if (typeof exclusiveMaximum === "number" && value >= exclusiveMaximum) {
    faults.push(`must be less than ${exclusiveMaximum}`);
  }
  if (typeof multipleOf === "number" && multipleOf > 0) {
    const ratio = value / multipleOf;
    if (Math.abs(ratio - Math.round(ratio)) > 1e-9)
      faults.push(`must be a multiple of ${multipleOf}`);
  }
  return faults;
}

function textFaults(value: string, schema: JsonSchemaObject): string[] {
  const { minLength, maxLength } = schema;
  const length = [...value].length;
  if (typeof minLength === "number" && length < minLength) {
    return [length === 0 ? "must not be empty" : `must have at least ${minLength} characters`];
  }
  if (typeof maxLength === "number" && length > maxLength) {
    return [`must have at most ${maxLength} characters`];
  }
  // Patterns from the server are not run here: one that backtracks would freeze the page.
  return [];
}

function listFaults(
  value: readonly unknown[],
  schema: JsonSchemaObject,
  checking: Checking,
  path: readonly (string | number)[],
): Fault[] {
  const { minItems, maxItems, items } = schema;
  const faults: Fault[] = [];
  if (typeof minItems === "number" && value.length < minItems) {
    faults.push({ path, message: `must have at least ${minItems} items` });
  }
  if (typeof maxItems === "number" && value.length > maxItems) {
    faults.push({ path, message: `must have at most ${maxItems} items` });
  }
  value.forEach((item, i) => {
    const rule = itemSchema(schema, i);
    if (rule !== undefined) faults.push(...check(item, rule, checking, [...path, i]));
    else if (Array.isArray(items))
      faults.push({ path: [...path, i], message: "is more than the schema allows" });
  });
  return faults;
}

/** The schema at an index of an array; undefined if the array must be shorter. */
export function itemSchema(schema: JsonSchemaObject, index: number): JsonSchema | undefined {
  const { items, prefixItems, additionalItems } = schema;
  const places = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : [];
  if (index < places.length) return places[index] as JsonSchema;
  if (places === items)
    return additionalItems === false ? undefined : ((additionalItems ?? {}) as JsonSchema);
  return (items ?? {}) as JsonSchema;
}

function memberFaults(
  value: { readonly [name: string]: unknown },
  schema: JsonSchemaObject,
  checking: Checking,
  path: readonly (string | number)[],
): Fault[] {
  const { properties = {}, required = [], additionalProperties, patternProperties } = schema;
  const faults: Fault[] = [];
  for (const name of required) {
    if (!Object.hasOwn(value, name)) faults.push({ path: [...path, name], message: "is required" });
  }
  for (const [name, member] of Object.entries(value)) {
    const inner = [...path, name];
    if (Object.hasOwn(properties, name)) {
      faults.push(...check(member, properties[name] as JsonSchema, checking, inner));
    } else if (additionalProperties === false && patternProperties === undefined) {
      faults.push({ path: inner, message: "is not an allowed member" });
    } else if (isObject(additionalProperties)) {
      faults.push(...check(member, additionalProperties as JsonSchema, checking, inner));
    }
  }
  return faults;
}

function isOf(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "null":
      return value === null;
    default:
      return typeof value === type;
  }
}

function named(type: string): string {
  const names: Readonly<Record<string, string>> = {
    integer: "a whole number",
    number: "a number",
    string: "text",
    boolean: "true or false",
    array: "a list",
    object: "an object",
  };
  return names[type] ?? type;
}

function isSame(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}
