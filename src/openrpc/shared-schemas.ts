import {
  type Direction,
  type JsonSchema,
  type JsonSchemaObject,
  pointerKey,
} from "./json-schema.ts";

/** A place in the document that has a schema. */
export interface Slot {
  schema: JsonSchema;
  /** The name for an unnamed type in this place: `MathAddResult`. */
  readonly place: string;
  readonly direction: Direction;
}

const prefix = "#/components/schemas/";
const localRef = /^#\/(?:definitions|\$defs)\/([^/]+)$/;

/**
 * The components of a document. Definitions of the schemas move there, and so do objects that occur in
 * two places in the same form.
 */
export class SharedSchemas {
  readonly #components = new Map<string, JsonSchema>();
  /** Names of components by their complete JSON. */
  readonly #names = new Map<string, string>();
  /** The same for params, without `additionalProperties: false`. */
  readonly #inputNames = new Map<string, string>();
  readonly #slots: Slot[] = [];

  /** Adds the definitions of a schema, and returns the slot for the rest of it. Add inputs before outputs. */
  add(json: JsonSchema, place: string, direction: Direction): Slot {
    return this.place(this.#withoutDefinitions(json, place, direction), place, direction);
  }

  /** Returns a slot for a part of a schema that was added. */
  place(schema: JsonSchema, place: string, direction: Direction): Slot {
    const slot: Slot = { schema, place, direction };
    this.#slots.push(slot);
    return slot;
  }

  /** Resolves a reference to a component; other schemas are returned unchanged. */
  resolve(schema: JsonSchema): JsonSchema {
    const name = typeof schema === "object" ? schema.$ref : undefined;
    if (name?.startsWith(prefix) !== true) return schema;
    return this.#components.get(name.slice(prefix.length)) ?? schema;
  }

  /** Removes a slot that is not part of the document. */
  drop(slot: Slot): void {
    this.#slots.splice(this.#slots.indexOf(slot), 1);
  }

  /** Moves repeated schemas to the components, and returns the components in use. */
  finish(): Record<string, JsonSchema> {
    const counts = new Map<string, number>();
    for (const { schema, direction } of this.#slots) this.#count(schema, direction, counts);
    for (const slot of this.#slots) {
      slot.schema = this.#shared(slot.schema, slot.place, slot.direction, counts);
    }
    const used = new Set<string>();
    const mark = (schema: unknown): void => {
      const name = refOf(schema)?.slice(prefix.length);
      if (name !== undefined && !used.has(name)) {
        used.add(name);
        mark(this.#components.get(name));
      } else if (typeof schema === "object" && schema !== null) {
        for (const value of Object.values(schema)) mark(value);
      }
    };
    for (const { schema } of this.#slots) mark(schema);
    return Object.fromEntries([...this.#components].filter(([name]) => used.has(name)));
  }

  #withoutDefinitions(json: JsonSchema, place: string, direction: Direction): JsonSchema {
    if (typeof json !== "object") return json;
    const { $schema: _, $id, id, definitions = {}, $defs = {}, ...root } = json;
    const local = new Map(Object.entries({ ...definitions, ...$defs }));
    const names = new Map<string, string>();
    for (const [key, schema] of local) {
      names.set(key, this.#nameOf(key, closure(schema, local), place, direction));
    }
    const own = [$id, id].find((given) => typeof given === "string") as string | undefined;
    const rootName =
      own !== undefined || pointsAtRoot(json)
        ? this.#nameOf(own ?? place, closure(root, local), place, direction)
        : undefined;
    const rename = (ref: string): string => {
      const [, key] = localRef.exec(ref) ?? [];
      const name = key === undefined ? undefined : names.get(pointerKey(key));
      if (name !== undefined) return prefix + name;
      return rootName !== undefined && ref.startsWith("#") ? prefix + rootName + ref.slice(1) : ref;
    };
    for (const [key, schema] of local) {
      const name = names.get(key) as string;
      if (!this.#components.has(name)) this.#components.set(name, renamed(schema, rename));
    }
    const rest = renamed(root, rename);
    if (rootName === undefined) return rest;
    if (!this.#components.has(rootName)) this.#components.set(rootName, rest);
    return { $ref: prefix + rootName };
  }

  #nameOf(wanted: string, text: string, place: string, direction: Direction): string {
    const loose = withoutClosing(text);
    const known =
      this.#names.get(text) ?? (direction === "output" ? this.#inputNames.get(loose) : undefined);
    if (known !== undefined) return known;
    // Zod numbers unnamed types.
    const named = /^__schema\d+$/.test(wanted) ? place : wanted.replace(/[^\w.-]+/g, "_") || place;
    const name = this.#free(named, direction);
    this.#names.set(text, name);
    if (direction === "input" && !this.#inputNames.has(loose)) this.#inputNames.set(loose, name);
    return name;
  }

  #free(name: string, direction: Direction): string {
    const taken = new Set(this.#names.values());
    if (!taken.has(name)) return name;
    const base = direction === "output" ? `${name}Output` : name;
    if (!taken.has(base)) return base;
    for (let n = 2; ; n++) if (!taken.has(base + n)) return base + n;
  }

  #count(schema: unknown, direction: Direction, counts: Map<string, number>): void {
    if (typeof schema !== "object" || schema === null) return;
    if (isSharable(schema)) {
      const text = this.#formOf(schema, direction, counts);
      const before = counts.get(text) ?? 0;
      counts.set(text, before + 1);
      // The inner types of a shared type were counted at its first place.
      if (before > 0) return;
    }
    for (const inner of innerSchemas(schema)) this.#count(inner, direction, counts);
  }

  #shared(
    schema: JsonSchema,
    place: string,
    direction: Direction,
    counts: ReadonlyMap<string, number>,
  ): JsonSchema {
    if (typeof schema !== "object") return schema;
    const inner = (): JsonSchema =>
      mapInner(schema, (member, key) =>
        this.#shared(member, place + pascal(key), direction, counts),
      );
    if (!isSharable(schema)) return inner();
    const text = this.#formOf(schema, direction, counts);
    if ((counts.get(text) ?? 0) < 2) return inner();
    const { title } = schema;
    const name = this.#nameOf(title ?? place, text, place, direction);
    if (!this.#components.has(name)) {
      this.#components.set(name, true);
      this.#components.set(name, inner());
    }
    return { $ref: prefix + name };
  }

  /** The JSON by which places are compared; an output may match a less strict input. */
  #formOf(schema: object, direction: Direction, counts: ReadonlyMap<string, number>): string {
    const text = JSON.stringify(schema);
    if (direction === "input" || counts.has(text)) return text;
    const loose = withoutClosing(text);
    return counts.has(loose) ? loose : text;
  }
}

/** `math/add` becomes `MathAdd`. */
export function pascal(name: string): string {
  return name
    .split(/[^A-Za-z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
}

function refOf(schema: unknown): string | undefined {
  const { $ref } = (schema ?? {}) as { $ref?: unknown };
  return typeof $ref === "string" && $ref.startsWith(prefix) ? $ref : undefined;
}

/** Objects with at least two members; smaller ones are often equal by chance. */
function isSharable(schema: object): schema is JsonSchemaObject {
  const { type, properties } = schema as JsonSchemaObject;
  return type === "object" && properties !== undefined && Object.keys(properties).length > 1;
}

const maps = ["properties", "patternProperties"];
const lists = ["allOf", "anyOf", "oneOf"];
const single = [
  "additionalProperties",
  "additionalItems",
  "items",
  "not",
  "propertyNames",
  "contains",
];

function innerSchemas(schema: object): JsonSchema[] {
  const found: JsonSchema[] = [];
  mapInner(schema as JsonSchemaObject, (member) => {
    found.push(member);
    return member;
  });
  return found;
}

/** A copy with changed inner schemas; data such as default values stays unchanged. */
function mapInner(
  schema: JsonSchemaObject,
  change: (schema: JsonSchema, key: string) => JsonSchema,
): JsonSchemaObject {
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]): [string, unknown] => {
      if (typeof value !== "object" || value === null) return [key, value];
      if (maps.includes(key)) {
        const members = Object.entries(value as Record<string, JsonSchema>);
        return [
          key,
          Object.fromEntries(members.map(([name, member]) => [name, change(member, name)])),
        ];
      }
      if (lists.includes(key) || (key === "items" && Array.isArray(value))) {
        return [key, (value as JsonSchema[]).map((member, i) => change(member, `${i + 1}`))];
      }
      return [key, single.includes(key) ? change(value as JsonSchema, "Item") : value];
    }),
  );
}

function renamed(schema: JsonSchema, rename: (ref: string) => string): JsonSchema {
  if (typeof schema !== "object") return schema;
  const copy = mapInner(schema, (inner) => renamed(inner, rename));
  return typeof schema.$ref === "string" ? { ...copy, $ref: rename(schema.$ref) } : copy;
}

function refsOf(schema: JsonSchema): string[] {
  if (typeof schema !== "object") return [];
  const own = typeof schema.$ref === "string" ? [schema.$ref] : [];
  return own.concat(innerSchemas(schema).flatMap(refsOf));
}

function pointsAtRoot(json: JsonSchemaObject): boolean {
  const { definitions = {}, $defs = {}, ...root } = json;
  return [root, ...Object.values(definitions), ...Object.values($defs)]
    .flatMap(refsOf)
    .some((ref) => ref.startsWith("#") && !localRef.test(ref));
}

/** The JSON of a schema and everything it refers to; equal JSON means equal types. */
function closure(schema: JsonSchema, local: ReadonlyMap<string, JsonSchema>): string {
  const reached = new Map<string, JsonSchema>();
  const visit = (from: JsonSchema): void => {
    for (const ref of refsOf(from)) {
      const key = pointerKey(localRef.exec(ref)?.[1] ?? "");
      const target = local.get(key);
      if (target === undefined || reached.has(key)) continue;
      reached.set(key, target);
      visit(target);
    }
  };
  visit(schema);
  return JSON.stringify(reached.size === 0 ? schema : [schema, ...[...reached].sort(byName)]);
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

/** Zod closes each output object; a schema without this is also correct for readers. */
function withoutClosing(text: string): string {
  return text.replaceAll(',"additionalProperties":false', "");
}
