import { isRecord } from "../protocol/record.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import { type JsonSchema, type JsonSchemaObject, pointerKey } from "./json-schema.ts";
import { applicators, assertions } from "./json-schema-keywords.ts";

/** Adds the issues of a value; `path` leads to the value. */
export type Check = (
  value: unknown,
  path: readonly PropertyKey[],
  issues: JsonSchemaIssue[],
) => void;

export interface JsonSchemaIssue {
  readonly message: string;
  readonly path: readonly PropertyKey[];
}

/** Compiles a subschema. */
export interface Compile {
  (schema: JsonSchema): Check;
  /** The expression of a pattern; undefined if patterns are not checked. */
  readonly expression: (pattern: string) => RegExp | undefined;
}

/** Most issues reported; a large array could have one in each element. */
const mostIssues = 20;
/** Nested combinators can take exponential time, and nested references the whole stack. */
const mostSteps = 20_000_000;
const deepest = 1_000;

/** The steps and depth that a check has left. */
interface Budget {
  steps: number;
  depth: number;
}

class TooMuch extends Error {}

export interface JsonSchemaOptions {
  /** Whether patterns are checked. Turn it off for untrusted schemas: some patterns take exponential time. @default true */
  readonly patterns?: boolean;
}

/**
 * A Standard Schema for plain JSON Schema (2020-12 and draft 7). References resolve inside the schema;
 * nothing is fetched. `format` and annotations are not checked. Throws for an invalid pattern.
 * @example
 * ```ts
 * import { method } from "callwire";
 * import { jsonSchema } from "callwire/mcp";
 *
 * const params = jsonSchema({
 *   type: "object",
 *   properties: { name: { type: "string" } },
 *   required: ["name"],
 * });
 * const greet = method({ params }, (given) => `Hello, ${(given as { name: string }).name}`);
 * ```
 */
export function jsonSchema(schema: JsonSchemaObject): Schema {
  const issuesOf = compiled(schema);
  return {
    "~standard": {
      version: 1,
      vendor: "callwire",
      validate(value) {
        const issues = issuesOf(value);
        return issues.length === 0 ? { value } : { issues };
      },
      jsonSchema: { input: () => ({ ...schema }), output: () => ({ ...schema }) },
    },
  };
}

/** Finds the issues of a value; the schema is compiled with the first one. */
export function jsonSchemaIssues(
  schema: JsonSchemaObject,
  options?: JsonSchemaOptions,
): (value: unknown) => JsonSchemaIssue[] {
  let issuesOf: ((value: unknown) => JsonSchemaIssue[]) | undefined;
  return (value) => {
    issuesOf ??= compiled(schema, options);
    return issuesOf(value);
  };
}

function compiled(
  schema: JsonSchemaObject,
  { patterns = true }: JsonSchemaOptions = {},
): (value: unknown) => JsonSchemaIssue[] {
  const budget: Budget = { steps: 0, depth: 0 };
  const check = compiler(schema, budget, patterns)(schema);
  return (value) => {
    const issues: JsonSchemaIssue[] = [];
    Object.assign(budget, { steps: mostSteps, depth: deepest });
    try {
      check(value, [], issues);
    } catch (error) {
      if (!(error instanceof TooMuch)) throw error;
      return [{ message: "takes too long to check", path: [] }];
    }
    return issues.slice(0, mostIssues);
  };
}

/** Compiles each subschema once, so that schemas may refer to themselves. */
function compiler(root: JsonSchemaObject, budget: Budget, patterns: boolean): Compile {
  const checked = new Map<object, Check>();
  const expression: Compile["expression"] = (pattern) =>
    patterns ? new RegExp(pattern, "u") : undefined;
  const compileOne = (schema: JsonSchema): Check => {
    if (typeof schema === "boolean") return schema ? () => {} : refused;
    const known = checked.get(schema);
    if (known !== undefined) return known;
    let checks: readonly Check[] = [];
    const check: Check = (value, path, issues) => {
      if (--budget.steps < 0 || --budget.depth < 0) throw new TooMuch();
      for (const each of checks) {
        if (issues.length >= mostIssues) break;
        each(value, path, issues);
      }
      budget.depth++;
    };
    checked.set(schema, check);
    checks = checksOf(schema, root, compile);
    return check;
  };
  const compile: Compile = Object.assign(compileOne, { expression });
  return compile;
}

function checksOf(schema: JsonSchemaObject, root: JsonSchemaObject, compile: Compile): Check[] {
  const checks: Check[] = [];
  if (typeof schema.$ref === "string") {
    const target = resolve(schema.$ref, root);
    if (target !== undefined) checks.push(compile(target));
  }
  for (const make of [...assertions, ...applicators]) {
    const check = make(schema, compile);
    if (check !== undefined) checks.push(check);
  }
  return checks;
}

const refused: Check = (_, path, issues) => {
  issues.push({ message: "is not allowed", path });
};

/** `#`, a pointer, or an anchor; other references are not checked. */
function resolve(ref: string, root: JsonSchemaObject): JsonSchema | undefined {
  if (ref === "#") return root;
  if (ref.startsWith("#/")) {
    let place: unknown = root;
    for (const part of ref.slice(2).split("/")) {
      const key = pointerKey(part);
      if (typeof place !== "object" || place === null || !Object.hasOwn(place, key)) {
        return undefined;
      }
      place = (place as Record<string, unknown>)[key];
    }
    return typeof place === "boolean" || isRecord(place) ? (place as JsonSchema) : undefined;
  }
  return ref.startsWith("#") ? anchored(root, ref.slice(1), 0) : undefined;
}

function anchored(schema: unknown, name: string, depth: number): JsonSchemaObject | undefined {
  if (typeof schema !== "object" || schema === null || depth > 64) return undefined;
  if ((schema as { $anchor?: unknown }).$anchor === name) return schema as JsonSchemaObject;
  for (const member of Object.values(schema)) {
    const found = anchored(member, name, depth + 1);
    if (found !== undefined) return found;
  }
  return undefined;
}
