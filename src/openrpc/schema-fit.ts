import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";

/** Why a value that one schema allows may not be valid for another. */
export interface Misfit {
  /** Where in the value, such as `.user.name` or `[]`; empty for the value itself. */
  readonly path: string;
  /** "required": a member may be missing. "refused": a member is not allowed. "values": other values are allowed. */
  readonly kind: "required" | "refused" | "values";
  /** One sentence for people, after the path. */
  readonly what: string;
}

/** The schemas that references of one document point to. */
export type Components = Readonly<Record<string, JsonSchema>>;

export interface FitOptions {
  readonly sent: Components;
  readonly accepted: Components;
  /** Whether members that the receiver does not know count; callers ignore those of results. */
  readonly refusesUnknown: boolean;
}

/** Lower bounds may only fall and upper bounds only rise. */
const lowerBounds = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"];
const upperBounds = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"];
/** Keywords whose value is either the same or a restriction. */
const sameOrNone = ["pattern", "format", "multipleOf", "uniqueItems"];

/** Finds what `sent` allows and `accepted` does not. Keywords that it does not know are taken to allow everything. */
export function misfits(sent: JsonSchema, accepted: JsonSchema, options: FitOptions): Misfit[] {
  return new Fit(options).of(sent, accepted, "");
}

class Fit {
  readonly #options: FitOptions;
  /** Pairs that are being compared, since schemas may be circular. */
  readonly #open = new Set<string>();

  constructor(options: FitOptions) {
    this.#options = options;
  }

  of(sent: JsonSchema, accepted: JsonSchema, path: string): Misfit[] {
    const pair = `${refOf(sent)} ${refOf(accepted)}`;
    if (pair === " ") return this.#compare(sent, accepted, path);
    if (this.#open.has(pair)) return [];
    this.#open.add(pair);
    const found = this.#compare(sent, accepted, path);
    this.#open.delete(pair);
    return found;
  }

  #compare(sent: JsonSchema, accepted: JsonSchema, path: string): Misfit[] {
    const from = resolved(sent, this.#options.sent);
    const to = resolved(accepted, this.#options.accepted);
    if (to === true || from === false || isAny(to)) return [];
    if (to === false) return [{ path, kind: "values", what: "is not allowed" }];
    const all = from === true ? {} : from;
    const branches = branchesOf(all);
    if (branches !== undefined) return branches.flatMap((each) => this.of(each, to, path));
    const choices = branchesOf(to);
    if (choices !== undefined) return this.#anyOf(all, choices, path);
    const values = this.#values(all, to, path);
    // A value of another type is not examined further.
    if (values.length > 0) return values;
    return [
      ...this.#bounds(all, to, path),
      ...this.#members(all, to, path),
      ...this.#items(all, to, path),
    ];
  }

  #anyOf(sent: JsonSchemaObject, choices: readonly JsonSchema[], path: string): Misfit[] {
    const types = typesOf(sent);
    // Each type is compared by itself, because there is often one choice for each.
    const parts = types === undefined ? [sent] : types.map((type) => ({ ...sent, type }));
    return parts.flatMap((part) => {
      const tried = choices.map((choice) => this.of(part, choice, path));
      return tried.some((found) => found.length === 0) ? [] : fewest(tried);
    });
  }

  #values(sent: JsonSchemaObject, accepted: JsonSchemaObject, path: string): Misfit[] {
    const found: Misfit[] = [];
    const values = valuesOf(accepted);
    const own = valuesOf(sent);
    if (values !== undefined) {
      const missing = own?.filter((value) => !values.includes(value));
      if (missing === undefined) {
        found.push({ path, kind: "values", what: `is only ${values.join(", ")}` });
      } else if (missing.length > 0) {
        found.push({ path, kind: "values", what: `does not include ${missing.join(", ")}` });
      }
    }
    const types = typesOf(accepted);
    const given = typesOf(sent) ?? own?.map((value) => typeOfJson(value));
    if (types === undefined || values !== undefined) return found;
    const others = (given ?? ["any type"]).filter(
      (type) => !types.includes(type) && !(type === "integer" && types.includes("number")),
    );
    if (others.length > 0) {
      const what = `is ${types.join(" or ")}, not ${[...new Set(others)].join(" or ")}`;
      found.push({ path, kind: "values", what });
    }
    return found;
  }

  #bounds(sent: JsonSchemaObject, accepted: JsonSchemaObject, path: string): Misfit[] {
    const found: Misfit[] = [];
    const add = (keyword: string): void => {
      const what = `has ${keyword} ${JSON.stringify(accepted[keyword])}`;
      const before = sent[keyword];
      const suffix = before === undefined ? "" : `, not ${JSON.stringify(before)}`;
      found.push({ path, kind: "values", what: what + suffix });
    };
    // The allowed values say more than their bounds.
    if (valuesOf(sent) !== undefined) return found;
    for (const keyword of lowerBounds) {
      const bound = accepted[keyword];
      const isLength = keyword.startsWith("min") && keyword !== "minimum";
      const before = sent[keyword] ?? (isLength ? 0 : Number.NaN);
      if (typeof bound === "number" && !(bound <= Number(before))) add(keyword);
    }
    for (const keyword of upperBounds) {
      const bound = accepted[keyword];
      if (typeof bound === "number" && !(bound >= Number(sent[keyword] ?? Number.NaN)))
        add(keyword);
    }
    for (const keyword of sameOrNone) {
      const rule = accepted[keyword];
      if (rule !== undefined && rule !== false && rule !== sent[keyword]) add(keyword);
    }
    return found;
  }

  #members(sent: JsonSchemaObject, accepted: JsonSchemaObject, path: string): Misfit[] {
    const found: Misfit[] = [];
    const given = sent.properties ?? {};
    const known = accepted.properties ?? {};
    for (const name of accepted.required ?? []) {
      if (sent.required?.includes(name)) continue;
      found.push({ path: `${path}.${name}`, kind: "required", what: "is required" });
    }
    for (const [name, schema] of Object.entries(given)) {
      const place = `${path}.${name}`;
      const target = Object.hasOwn(known, name) ? known[name] : accepted.additionalProperties;
      if (target === false) {
        if (!this.#options.refusesUnknown) continue;
        found.push({ path: place, kind: "refused", what: "is not allowed" });
      } else if (target !== undefined) found.push(...this.of(schema, target, place));
    }
    return found;
  }

  #items(sent: JsonSchemaObject, accepted: JsonSchemaObject, path: string): Misfit[] {
    const { items } = accepted;
    if (items === undefined) return [];
    if (isTuple(items)) {
      const given = sent.items;
      if (!isTuple(given)) return [];
      return items.flatMap((item, i) => this.of(given[i] ?? true, item, `${path}[${i}]`));
    }
    const given = isTuple(sent.items) ? sent.items : [sent.items ?? true];
    return given.flatMap((item) => this.of(item, items, `${path}[]`));
  }
}

/** Longest chain of references that is followed. */
const longestChain = 8;

function refOf(schema: JsonSchema): string {
  return typeof schema === "object" ? (schema.$ref ?? "") : "";
}

function resolved(schema: JsonSchema, components: Components): JsonSchema {
  let found = schema;
  for (let i = 0; i < longestChain && typeof found === "object" && found.$ref !== undefined; i++) {
    const name = componentOf(found.$ref);
    const isKnown = name !== undefined && Object.hasOwn(components, name);
    found = isKnown ? (components[name] as JsonSchema) : true;
  }
  return found;
}

function isAny(schema: JsonSchema): boolean {
  return typeof schema === "object" && Object.keys(schema).every((name) => notes.has(name));
}

/** Keywords that do not restrict values. */
const notes = new Set(["title", "description", "default", "examples", "deprecated", "$comment"]);

function branchesOf(schema: JsonSchemaObject): readonly JsonSchema[] | undefined {
  const { anyOf, oneOf } = schema;
  const branches = anyOf ?? oneOf;
  return Array.isArray(branches) ? (branches as readonly JsonSchema[]) : undefined;
}

/** The values of `enum` or `const`, as JSON. */
function valuesOf(schema: JsonSchemaObject): readonly string[] | undefined {
  if ("const" in schema) return [JSON.stringify(schema.const)];
  return Array.isArray(schema.enum) ? schema.enum.map((value) => JSON.stringify(value)) : undefined;
}

function typesOf({ type }: JsonSchemaObject): readonly string[] | undefined {
  return typeof type === "string" ? [type] : type;
}

function typeOfJson(text: string): string {
  const value: unknown = JSON.parse(text);
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : Number.isInteger(value) ? "integer" : typeof value;
}

function isTuple(items: unknown): items is readonly JsonSchema[] {
  return Array.isArray(items);
}

function fewest(tried: readonly Misfit[][]): Misfit[] {
  return tried.reduce((least, found) => (found.length < least.length ? found : least));
}
