import type { JsonSchema, JsonSchemaObject, OpenrpcExample, OpenrpcMethod } from "callwire/openrpc";
import { type Components, isObject, resolved } from "./resolve.ts";
import { sampleOf } from "./sample.ts";

/** Params are sent as an object, as an array, or not at all. */
export type ParamsValue = { readonly [name: string]: unknown } | readonly unknown[] | undefined;

export type ParamsForm = "named" | "positional";

/** The schema of all params in one of the two forms. */
export function paramsSchema(
  method: OpenrpcMethod,
  form: ParamsForm,
  components: Components,
): JsonSchemaObject {
  const whole = method["x-params"];
  const { params } = method;
  if (form === "positional") {
    if (params.length === 0 && whole !== undefined) return listSchema(whole, components);
    const first = params.findLastIndex(({ required }) => required === true);
    return {
      type: "array",
      items: params.map(({ schema }) => schema),
      minItems: first + 1,
      ...(whole === undefined ? { additionalItems: false } : {}),
    };
  }
  if (whole !== undefined && params.length === 0) return resolved(whole, components);
  return {
    type: "object",
    properties: Object.fromEntries(params.map(({ name, schema }) => [name, schema])),
    required: params.filter(({ required }) => required === true).map(({ name }) => name),
    ...(whole === undefined ? { additionalProperties: false } : {}),
  };
}

function listSchema(whole: JsonSchema, components: Components): JsonSchemaObject {
  const known = resolved(whole, components);
  return known.type === "array" ? known : { type: "array" };
}

/** Which forms a method accepts; an array of unknown length has no names. */
export function formsOf(method: OpenrpcMethod): readonly ParamsForm[] {
  if (method.paramStructure === "by-name") return ["named"];
  if (method.paramStructure === "by-position") return ["positional"];
  return ["named", "positional"];
}

export function formOf(value: ParamsValue): ParamsForm | undefined {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? "positional" : "named";
}

/** The same params in the other form; members without a position are lost. */
export function converted(value: ParamsValue, to: ParamsForm, method: OpenrpcMethod): ParamsValue {
  const names = method.params.map(({ name }) => name);
  if (value === undefined || formOf(value) === to) return value;
  if (Array.isArray(value)) {
    return Object.fromEntries(
      value.flatMap((member, i) => (names[i] === undefined ? [] : [[names[i], member]])),
    );
  }
  const members = value as { readonly [name: string]: unknown };
  const last = names.findLastIndex((name) => Object.hasOwn(members, name));
  // JSON has no gaps: an optional param before a given one becomes null.
  return names.slice(0, last + 1).map((name) => members[name] ?? null);
}

/** The params of an example. */
export function exampleParams(method: OpenrpcMethod, example: OpenrpcExample): ParamsValue {
  const listed = example["x-params"];
  if (listed !== undefined) return listed;
  if (example.params.length === 0) return undefined;
  return method.paramStructure === "by-position"
    ? example.params.map(({ value }) => value)
    : Object.fromEntries(example.params.map(({ name, value }) => [name, value]));
}

/** Initial params: those of the first example, or empty ones of the right shape. */
export function firstParams(method: OpenrpcMethod, components: Components): ParamsValue {
  const [example] = method.examples ?? [];
  const given = example === undefined ? undefined : exampleParams(method, example);
  const [form = "named"] = formsOf(method);
  if (given !== undefined) return converted(given, form, method);
  if (method.params.length === 0 && method["x-params"] === undefined) return undefined;
  const sample = sampleOf(paramsSchema(method, form, components), components);
  if (form === "positional") return Array.isArray(sample) ? sample : [];
  return isObject(sample) || Array.isArray(sample) ? sample : {};
}
