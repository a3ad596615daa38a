import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";

/** For each name the names that it leads to. */
type Ways = ReadonlyMap<string, Set<string>>;

const deepest = 64;

/**
 * The components that are nothing but themselves, and those between two such: a type that says so does not compile, and who
 * reads it comes to no end. All are found together, since looking for each by itself could take hours.
 */
export function circularNames(schemas: Readonly<Record<string, JsonSchema>>): ReadonlySet<string> {
  const ways = new Map(
    Object.entries(schemas).map(([name, schema]) => {
      const meant = aliasesIn(schema, 0).filter((other) => Object.hasOwn(schemas, other));
      return [name, new Set(meant)] as const;
    }),
  );
  // Whoever leads on for ever, and is led to from ever, is in a circle or between two.
  return new Set(withoutEnds(turned(withoutEnds(ways))).keys());
}

/** The components that a schema is, alone or with others; those of its members are not it. */
function aliasesIn(schema: unknown, depth: number): string[] {
  if (typeof schema !== "object" || schema === null || depth > deepest) return [];
  const { $ref, allOf, anyOf, oneOf, not } = schema as JsonSchemaObject;
  const own = typeof $ref === "string" ? componentOf($ref) : undefined;
  const inner = [allOf, anyOf, oneOf, [not]].flatMap((parts) =>
    Array.isArray(parts) ? parts.flatMap((part) => aliasesIn(part, depth + 1)) : [],
  );
  return own === undefined ? inner : [own, ...inner];
}

/** Leaves out whoever leads nowhere, and then whoever led only there. */
function withoutEnds(ways: Ways): Ways {
  const left = new Map(ways);
  const back = turned(ways);
  const ends = [...ways.keys()].filter((name) => ways.get(name)?.size === 0);
  for (const end of ends) {
    left.delete(end);
    for (const before of back.get(end) ?? []) {
      const rest = left.get(before);
      rest?.delete(end);
      if (rest?.size === 0) ends.push(before);
    }
  }
  return left;
}

function turned(ways: Ways): Ways {
  const back = new Map(Array.from(ways.keys(), (name) => [name, new Set<string>()]));
  for (const [name, others] of ways) for (const other of others) back.get(other)?.add(name);
  return back;
}
