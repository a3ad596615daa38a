import type { JsonSchema, JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { Check, Compile, JsonSchemaIssue } from "./json-schema.ts";

type Make = (schema: JsonSchemaObject, compile: Compile) => Check | undefined;

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
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [name, member] of Object.entries(value)) {
      const place = [...path, name];
      names?.(name, place, issues);
      const own = named.get(name);
      own?.(member, place, issues);
      let isKnown = own !== undefined;
      for (const [pattern, check] of matching) {
        if (pattern?.test(name) === false) continue;
        isKnown = true;
        // A name that may be meant or not is known, and no more can be said of its value.
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
  // Draft 7 has a list in `items` and the rest in `additionalItems`.
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
      issues.push({ message: "lacks an item that it must contain", path });
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
      issues.push({ message: "matches none of the allowed forms", path });
    }
    if (one !== undefined) {
      const count = one.filter((check) => passes(check, value)).length;
      if (count !== 1) {
        const message = `must match one of the allowed forms, not ${count === 0 ? "none" : count}`;
        issues.push({ message, path });
      }
    }
    if (not !== undefined && passes(not, value)) {
      issues.push({ message: "has a form that is not allowed", path });
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
    if (typeof value !== "object" || value === null || Array.isArray(value)) return;
    for (const [name, others] of Object.entries(required ?? {})) {
      if (!Object.hasOwn(value, name)) continue;
      for (const other of others) {
        if (!Object.hasOwn(value, other)) {
          issues.push({ message: `is required beside ${name}`, path: [...path, other] });
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
