import { isRecord } from "../protocol/record.ts";
import type { JsonSchema, JsonSchemaObject } from "./json-schema.ts";
import type { Check, Compile, JsonSchemaIssue } from "./json-schema-check.ts";

type Make = (schema: JsonSchemaObject, compile: Compile) => Check | undefined;

function when<T>(
  isOne: (value: unknown) => value is T,
  isWrong: (value: T) => boolean,
  message: string,
): Check {
  return (value, path, issues) => {
    if (isOne(value) && isWrong(value)) issues.push({ message, path });
  };
}

const isString = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isArray = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** A keyword whose value is a number. */
function limit(keyword: string, make: (limit: number) => Check): Make {
  return (schema) => {
    const number = schema[keyword];
    return typeof number === "number" ? make(number) : undefined;
  };
}

/** Keywords that check a value without other schemas. */
export const assertions: readonly Make[] = [
  ({ type }) => {
    if (type === undefined) return undefined;
    const names = typeof type === "string" ? [type] : type;
    const message = `must be ${names.join(" or ")}`;
    return (value, path, issues) => {
      if (!names.some((name) => isOfType(value, name))) issues.push({ message, path });
    };
  },
  ({ enum: choices }) => {
    if (!Array.isArray(choices)) return undefined;
    const written = new Set(choices.map(canonical));
    const message = `must be one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}`;
    return (value, path, issues) => {
      if (!written.has(canonical(value))) issues.push({ message, path });
    };
  },
  (schema) => {
    if (!Object.hasOwn(schema, "const")) return undefined;
    const written = canonical(schema.const);
    const message = `must be ${JSON.stringify(schema.const)}`;
    return (value, path, issues) => {
      if (canonical(value) !== written) issues.push({ message, path });
    };
  },
  limit("minimum", (n) => when(isNumber, (value) => value < n, `must be at least ${n}`)),
  limit("maximum", (n) => when(isNumber, (value) => value > n, `must be at most ${n}`)),
  limit("exclusiveMinimum", (n) => when(isNumber, (value) => value <= n, `must be above ${n}`)),
  limit("exclusiveMaximum", (n) => when(isNumber, (value) => value >= n, `must be below ${n}`)),
  limit("multipleOf", (n) =>
    when(isNumber, (value) => !Number.isInteger(value / n), `must be a multiple of ${n}`),
  ),
  limit("minLength", (n) =>
    when(isString, (value) => lengthOf(value) < n, `must have at least ${n} characters`),
  ),
  limit("maxLength", (n) =>
    when(isString, (value) => lengthOf(value) > n, `must have at most ${n} characters`),
  ),
  limit("minItems", (n) =>
    when(isArray, (value) => value.length < n, `must have at least ${n} items`),
  ),
  limit("maxItems", (n) =>
    when(isArray, (value) => value.length > n, `must have at most ${n} items`),
  ),
  limit("minProperties", (n) =>
    when(isRecord, (value) => Object.keys(value).length < n, `must have at least ${n} members`),
  ),
  limit("maxProperties", (n) =>
    when(isRecord, (value) => Object.keys(value).length > n, `must have at most ${n} members`),
  ),
  ({ pattern }, compile) => {
    const expression = typeof pattern === "string" ? compile.expression(pattern) : undefined;
    if (expression === undefined) return undefined;
    return when(isString, (value) => !expression.test(value), `must match ${pattern}`);
  },
  ({ uniqueItems }) =>
    uniqueItems === true
      ? when(
          isArray,
          (value) => new Set(value.map(canonical)).size < value.length,
          "must not have duplicate items",
        )
      : undefined,
  ({ required }) => {
    if (!Array.isArray(required)) return undefined;
    return (value, path, issues) => {
      if (!isRecord(value)) return;
      for (const name of required as string[]) {
        if (!Object.hasOwn(value, name)) {
          issues.push({ message: "is required", path: [...path, name] });
        }
      }
    };
  },
];

function isOfType(value: unknown, name: string): boolean {
  switch (name) {
    case "object":
      return isRecord(value);
    case "array":
      return Array.isArray(value);
    case "integer":
      return Number.isInteger(value);
    case "null":
      return value === null;
    default:
      return typeof value === name;
  }
}

/** Counts code points, not surrogates. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** A string that is equal for equal values, whatever the order of their members. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isRecord(value)) return JSON.stringify(value) ?? "undefined";
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}

type Members = Readonly<Record<string, JsonSchema>>;

/** Keywords that apply other schemas to a value or to its parts. */
export const applicators: readonly Make[] = [members, items, combined, conditional, dependent];

function members(schema: JsonSchemaObject, compile: Compile): Check | undefined {
  const { properties, patternProperties, additionalProperties, propertyNames } = schema;
  if (
    properties === undefined &&
    patternProperties === undefined &&
    additionalProperties === undefined &&
    propertyNames === undefined
  ) {
    return undefined;
  }
  const named = new Map(entriesOf(properties).map(([name, each]) => [name, compile(each)]));
  const matching = entriesOf(patternProperties).map(
    ([pattern, each]) => [compile.expression(pattern), compile(each)] as const,
  );
  const others = additionalProperties === undefined ? undefined : compile(additionalProperties);
  const names = propertyNames === undefined ? undefined : compile(propertyNames as JsonSchema);
  return (value, path, issues) => {
    if (!isRecord(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const place = [...path, name];
      names?.(name, place, issues);
      const own = named.get(name);
      own?.(member, place, issues);
      let isKnown = own !== undefined;
      for (const [pattern, check] of matching) {
        if (pattern?.test(name) === false) continue;
        isKnown = true;
        // Without patterns any name may match, so it counts as known and its value is not checked.
        if (pattern !== undefined) check(member, place, issues);
      }
      if (!isKnown) others?.(member, place, issues);
    }
  };
}

function entriesOf(value: unknown): [string, JsonSchema][] {
  return typeof value === "object" && value !== null ? Object.entries(value as Members) : [];
}

function items(schema: JsonSchemaObject, compile: Compile): Check | undefined {
  // Draft 7 has an array in `items` and the rest in `additionalItems`.
  const isOld = Array.isArray(schema.items);
  const first = (isOld ? schema.items : schema.prefixItems) as readonly JsonSchema[] | undefined;
  const rest = (isOld ? schema.additionalItems : schema.items) as JsonSchema | undefined;
  const contains = schema.contains as JsonSchema | undefined;
  if (first === undefined && rest === undefined && contains === undefined) return undefined;
  const heads = (first ?? []).map(compile);
  const tail = rest === undefined ? undefined : compile(rest);
  const wanted = contains === undefined ? undefined : compile(contains);
  return (value, path, issues) => {
    if (!Array.isArray(value)) return;
    value.forEach((item: unknown, i) => {
      (heads[i] ?? tail)?.(item, [...path, i], issues);
    });
    if (wanted !== undefined && !value.some((item) => passes(wanted, item))) {
      issues.push({ message: "must contain a matching item", path });
    }
  };
}

function combined(schema: JsonSchemaObject, compile: Compile): Check | undefined {
  const listOf = (keyword: string): Check[] | undefined => {
    const list = schema[keyword];
    return Array.isArray(list) ? (list as JsonSchema[]).map(compile) : undefined;
  };
  const all = listOf("allOf");
  const any = listOf("anyOf");
  const one = listOf("oneOf");
  const not = schema.not === undefined ? undefined : compile(schema.not as JsonSchema);
  if (all === undefined && any === undefined && one === undefined && not === undefined) {
    return undefined;
  }
  return (value, path, issues) => {
    for (const check of all ?? []) check(value, path, issues);
    if (any !== undefined && !any.some((check) => passes(check, value))) {
      issues.push({ message: "must match one of the allowed schemas", path });
    }
    if (one !== undefined) {
      const count = one.filter((check) => passes(check, value)).length;
      if (count !== 1) {
        const message = `must match exactly one of the allowed schemas, not ${count}`;
        issues.push({ message, path });
      }
    }
    if (not !== undefined && passes(not, value)) {
      issues.push({ message: "must not match the forbidden schema", path });
    }
  };
}

function conditional(schema: JsonSchemaObject, compile: Compile): Check | undefined {
  if (schema.if === undefined) return undefined;
  const condition = compile(schema.if as JsonSchema);
  const { then: yes, else: no } = schema as { then?: JsonSchema; else?: JsonSchema };
  const whenTrue = yes === undefined ? undefined : compile(yes);
  const whenFalse = no === undefined ? undefined : compile(no);
  return (value, path, issues) => {
    (passes(condition, value) ? whenTrue : whenFalse)?.(value, path, issues);
  };
}

function dependent(schema: JsonSchemaObject, compile: Compile): Check | undefined {
  const required = schema.dependentRequired as Readonly<Record<string, string[]>> | undefined;
  const schemas = entriesOf(schema.dependentSchemas).map(
    ([name, each]) => [name, compile(each)] as const,
  );
  if (required === undefined && schemas.length === 0) return undefined;
  return (value, path, issues) => {
    if (!isRecord(value)) return;
    for (const [name, others] of Object.entries(required ?? {})) {
      if (!Object.hasOwn(value, name)) continue;
      for (const other of others) {
        if (!Object.hasOwn(value, other)) {
          issues.push({ message: `is required together with ${name}`, path: [...path, other] });
        }
      }
    }
    for (const [name, check] of schemas) if (Object.hasOwn(value, name)) check(value, path, issues);
  };
}

function passes(check: Check, value: unknown): boolean {
  const issues: JsonSchemaIssue[] = [];
  check(value, [], issues);
  return issues.length === 0;
}
