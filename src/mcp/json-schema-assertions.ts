import type { JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { Check, Compile } from "./json-schema.ts";

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

const isText = (value: unknown): value is string => typeof value === "string";
const isNumber = (value: unknown): value is number => typeof value === "number";
const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A keyword that holds a number. */
function limit(keyword: string, make: (limit: number) => Check): Make {
  return (schema) => {
    const number = schema[keyword];
    return typeof number === "number" ? make(number) : undefined;
  };
}

/** Keywords that look at a value alone. */
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
    when(isText, (value) => lengthOf(value) < n, `must have at least ${n} characters`),
  ),
  limit("maxLength", (n) =>
    when(isText, (value) => lengthOf(value) > n, `must have at most ${n} characters`),
  ),
  limit("minItems", (n) =>
    when(isList, (value) => value.length < n, `must have at least ${n} items`),
  ),
  limit("maxItems", (n) =>
    when(isList, (value) => value.length > n, `must have at most ${n} items`),
  ),
  limit("minProperties", (n) =>
    when(isObject, (value) => Object.keys(value).length < n, `must have at least ${n} members`),
  ),
  limit("maxProperties", (n) =>
    when(isObject, (value) => Object.keys(value).length > n, `must have at most ${n} members`),
  ),
  ({ pattern }, compile) => {
    const expression = typeof pattern === "string" ? compile.expression(pattern) : undefined;
    if (expression === undefined) return undefined;
    return when(isText, (value) => !expression.test(value), `must match ${pattern}`);
  },
  ({ uniqueItems }) =>
    uniqueItems === true
      ? when(
          isList,
          (value) => new Set(value.map(canonical)).size < value.length,
          "must have no item twice",
        )
      : undefined,
  ({ required }) => {
    if (!Array.isArray(required)) return undefined;
    return (value, path, issues) => {
      if (!isObject(value)) return;
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
      return isObject(value);
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

/** Characters as people count them, not halves of surrogate pairs. */
function lengthOf(text: string): number {
  let length = 0;
  for (const _ of text) length++;
  return length;
}

/** Equal values have equal texts, in whatever order their members stand. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value) ?? "undefined";
  const members = Object.keys(value).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
}
