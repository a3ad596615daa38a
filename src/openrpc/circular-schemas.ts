import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";

/** Deepest nesting that is followed; a hostile schema must not exhaust the stack. */
const deepest = 64;

/** Edges of the graph: the components that each component refers to. */
type Edges = ReadonlyMap<string, Set<string>>;

/**
 * Finds components that are defined only by themselves, directly or through others. Such a type does not compile, and
 * resolving it never ends. This is Kosaraju's algorithm for strongly connected components, in linear time.
 */
export function circularNames(schemas: Readonly<Record<string, JsonSchema>>): Set<string> {
  const names = Object.keys(schemas);
  const forward: Edges = new Map(names.map((name) => [name, new Set()]));
  const backward: Edges = new Map(names.map((name) => [name, new Set()]));
  for (const [name, schema] of Object.entries(schemas)) {
    for (const next of namesIn(schema, 0)) {
      if (!forward.has(next)) continue;
      forward.get(name)?.add(next);
      backward.get(next)?.add(name);
    }
  }
  const seen = new Set<string>();
  const completed = names.flatMap((name) => walk(name, forward, seen));
  seen.clear();
  // In reverse order of completion, walking backwards reaches only members of the same cycle.
  const cycles = completed.reverse().map((name) => walk(name, backward, seen));
  const isCycle = ([name = "", ...others]: string[]): boolean =>
    others.length > 0 || forward.get(name)?.has(name) === true;
  return new Set(cycles.filter(isCycle).flat());
}

/** The components that a schema is at least partly defined by. */
function namesIn(schema: unknown, depth: number): string[] {
  if (typeof schema !== "object" || schema === null || depth > deepest) return [];
  const { $ref, allOf, anyOf, oneOf, not } = schema as JsonSchemaObject;
  const own = typeof $ref === "string" ? componentOf($ref) : undefined;
  const parts = [allOf, anyOf, oneOf, [not]].filter(Array.isArray).flat();
  const within = parts.flatMap((part) => namesIn(part, depth + 1));
  return own === undefined ? within : [own, ...within];
}

/** The unseen components reachable from one, in order of completion. Iterative, since the path may be long. */
function walk(from: string, edges: Edges, seen: Set<string>): string[] {
  const completed: string[] = [];
  const path: { name: string; next: Iterator<string> }[] = [];
  const enter = (name: string): void => {
    if (seen.has(name)) return;
    seen.add(name);
    path.push({ name, next: (edges.get(name) ?? new Set<string>()).values() });
  };
  enter(from);
  for (let here = path.at(-1); here !== undefined; here = path.at(-1)) {
    const { value, done } = here.next.next();
    if (!done) enter(value);
    else {
      path.pop();
      completed.push(here.name);
    }
  }
  return completed;
}
