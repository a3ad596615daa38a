import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";

/** Parts within parts beyond this are not looked at; a hostile schema must not exhaust the stack. */
const deepest = 64;

/** For each component, others. */
type Ways = ReadonlyMap<string, Set<string>>;

/**
 * The components that are nothing but themselves, also by way of others: a type that says so does not compile, and
 * who reads it comes to no end. Each is looked at twice, however many of them lead to the same.
 */
export function circularNames(schemas: Readonly<Record<string, JsonSchema>>): Set<string> {
  const names = Object.keys(schemas);
  const onward: Ways = new Map(names.map((name) => [name, new Set()]));
  const back: Ways = new Map(names.map((name) => [name, new Set()]));
  for (const [name, schema] of Object.entries(schemas)) {
    for (const next of namesIn(schema, 0)) {
      if (!onward.has(next)) continue;
      onward.get(name)?.add(next);
      back.get(next)?.add(name);
    }
  }
  const seen = new Set<string>();
  const left = names.flatMap((name) => walk(name, onward, seen));
  seen.clear();
  // From the last that was left, the ways back lead only to those that lie on a circle with it.
  const circles = left.reverse().map((name) => walk(name, back, seen));
  const isCircle = ([name = "", ...others]: string[]): boolean =>
    others.length > 0 || onward.get(name)?.has(name) === true;
  return new Set(circles.filter(isCircle).flat());
}

/** What a schema says that it is, at the least in part. */
function namesIn(schema: unknown, depth: number): string[] {
  if (typeof schema !== "object" || schema === null || depth > deepest) return [];
  const { $ref, allOf, anyOf, oneOf, not } = schema as JsonSchemaObject;
  const own = typeof $ref === "string" ? componentOf($ref) : undefined;
  const parts = [allOf, anyOf, oneOf, [not]].filter(Array.isArray).flat();
  const within = parts.flatMap((part) => namesIn(part, depth + 1));
  return own === undefined ? within : [own, ...within];
}

/** All that a component leads to and was not seen before, in the order in which they are left; it may be a long way. */
function walk(from: string, ways: Ways, seen: Set<string>): string[] {
  const left: string[] = [];
  const path: { name: string; next: Iterator<string> }[] = [];
  const enter = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    path.push({ name, next: (ways.get(name) ?? new Set<string>()).values() });
  };
  enter(from);
  for (let here = path.at(-1); here !== undefined; here = path.at(-1)) {
    const { value, done } = here.next.next();
    if (!done) enter(value);
    else {
      path.pop();
      left.push(here.name);
    }
  }
  return left;
}
