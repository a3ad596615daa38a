import type { JsonSchemaObject } from "callwire/openrpc";

export interface ArgumentNotes {
  /** Empty if the type is not a simple one. */
  readonly schema: JsonSchemaObject;
  /** Whether it is optional without a default. */
  readonly optional?: boolean;
}

const unknown: ArgumentNotes = { schema: {} };

/**
 * Reads a type from TypeScript or a doc comment: simple types, arrays, literals, unions and objects
 * of these. Any other type is unknown, but never an error.
 */
export function writtenType(text: string): ArgumentNotes {
  try {
    return new TypeReader(text).read();
  } catch {
    return unknown;
  }
}

/** The schema of a return type; undefined if the function may return nothing. */
export function writtenResult(text: string): JsonSchemaObject | undefined {
  const [, awaited = text] = /^\s*Promise\s*\.?<([\s\S]*)>\s*$/.exec(text) ?? [];
  const { schema, optional = false } = writtenType(awaited);
  return optional || Object.keys(schema).length === 0 ? undefined : schema;
}

export function writtenMembers({ schema }: ArgumentNotes): Record<string, ArgumentNotes> {
  const { properties = {}, required = [] } = schema;
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    { schema: member, ...(!required.includes(name) && { optional: true }) },
  ]);
  return Object.fromEntries(members);
}

const byName = new Map<string, JsonSchemaObject>([
  ...["string", "number", "integer", "boolean", "object", "null"].map(
    (type) => [type, { type }] as const,
  ),
  ...["String", "Number", "Boolean", "Object"].map(
    (name) => [name, { type: name.toLowerCase() }] as const,
  ),
  ["Record", { type: "object" }],
  ["true", { type: "boolean", enum: [true] }],
  ["false", { type: "boolean", enum: [false] }],
]);

const arrayNames = new Set(["Array", "ReadonlyArray"]);

const nothing = new Set(["undefined", "void"]);

const space = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*)*/y;
const token =
  /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|-?\d+(?:\.\d+)?|[\p{ID_Start}$_][\p{ID_Continue}$.]*|[\s\S]/uy;
const word = /^[\p{ID_Start}$_]/u;

/** The members of a union; `undefined` means a missing value. */
type Alternatives = readonly (JsonSchemaObject | undefined)[];

/** Parses a type from left to right; throws on unknown syntax. */
class TypeReader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  read(): ArgumentNotes {
    const { schema, optional } = joined(this.#union());
    // Closure marks an optional argument with "=".
    const isOptional = this.#take("=") || optional === true;
    if (this.#next < this.#tokens.length) throw new SyntaxError("not a simple type");
    return { schema, ...(isOptional && { optional: true }) };
  }

  #union(): Alternatives {
    this.#take("|");
    const found = [...this.#array()];
    while (this.#take("|")) found.push(...this.#array());
    return found;
  }

  #array(): Alternatives {
    if (this.#take("readonly")) return this.#array();
    let found = this.#single();
    while (this.#take("[")) {
      this.#must("]");
      found = [arrayOf(found)];
    }
    return found;
  }

  #single(): Alternatives {
    const text = this.#tokens[this.#next++] ?? "";
    if (text === "(") return this.#inBrackets();
    if (text === "{") return [this.#object()];
    if (text === "*") return [{}];
    if (text === "!") return this.#single();
    if (text === "?") return [...this.#single(), { type: "null" }];
    if (/^["']/.test(text)) return [{ type: "string", enum: [unquoted(text)] }];
    if (/^-?\d/.test(text)) return [{ type: "number", enum: [Number(text)] }];
    if (!word.test(text)) throw new SyntaxError("not a simple type");
    // Closure writes Array.<string>.
    const name = text.replace(/\.$/, "");
    const [first = [{}]] = this.#take("<") ? this.#typeArguments() : [];
    if (arrayNames.has(name)) return [arrayOf(first)];
    return [nothing.has(name) ? undefined : (byName.get(name) ?? {})];
  }

  #inBrackets(): Alternatives {
    const found = this.#union();
    this.#must(")");
    return found;
  }

  #typeArguments(): Alternatives[] {
    const found = [this.#union()];
    while (this.#take(",")) found.push(this.#union());
    this.#must(">");
    return found;
  }

  #object(): JsonSchemaObject {
    const properties: [string, JsonSchemaObject][] = [];
    const required: string[] = [];
    while (!this.#take("}")) {
      const name = this.#key();
      const isOptional = this.#take("?");
      this.#must(":");
      const { schema, optional = false } = joined(this.#union());
      properties.push([name, schema]);
      if (!isOptional && !optional) required.push(name);
      // TypeScript allows a line break as separator.
      if (!this.#take(";")) this.#take(",");
    }
    return { type: "object", properties: Object.fromEntries(properties), required };
  }

  #key(): string {
    const isModified = this.#tokens[this.#next] === "readonly" && !/[?:]/.test(this.#peek(1));
    if (isModified) this.#next++;
    const text = this.#tokens[this.#next++] ?? "";
    if (/^["']/.test(text)) return unquoted(text);
    if (!word.test(text)) throw new SyntaxError("not the name of a member");
    return text;
  }

  #peek(ahead: number): string {
    return this.#tokens[this.#next + ahead] ?? "";
  }

  #take(text: string): boolean {
    const isNext = this.#peek(0) === text;
    if (isNext) this.#next++;
    return isNext;
  }

  #must(text: string): void {
    if (!this.#take(text)) throw new SyntaxError(`no ${text}`);
  }
}

function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  for (let at = 0; ; ) {
    space.lastIndex = at;
    space.test(text);
    token.lastIndex = space.lastIndex;
    const [found] = token.exec(text) ?? [];
    if (found === undefined) return tokens;
    tokens.push(found);
    at = token.lastIndex;
  }
}

function unquoted(text: string): string {
  const inner = text.slice(1, -1);
  if (inner.includes("\\")) throw new SyntaxError("escape sequences are not supported");
  return inner;
}

function arrayOf(alternatives: Alternatives): JsonSchemaObject {
  const { schema: items } = joined(alternatives);
  return { type: "array", ...(Object.keys(items).length > 0 && { items }) };
}

function joined(alternatives: Alternatives): ArgumentNotes {
  const schemas = alternatives.filter((each) => each !== undefined);
  return {
    schema: anyOf(schemas),
    ...(schemas.length < alternatives.length && { optional: true }),
  };
}

/** One schema for a union; empty if one member is, because that accepts everything. */
function anyOf(schemas: readonly JsonSchemaObject[]): JsonSchemaObject {
  if (schemas.some((schema) => Object.keys(schema).length === 0)) return {};
  const [named, others] = partition(schemas, (schema) => Object.keys(schema).join() === "type");
  const [literals, forms] = partition(others, (schema) => schema.enum !== undefined);
  const all = [...withOneType(named), ...forms, ...withOneEnum(literals)];
  return all.length <= 1 ? (all[0] ?? {}) : { anyOf: all };
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

/** `number | null` becomes one array of types, which gives readable validation errors. */
function withOneType(named: readonly JsonSchemaObject[]): readonly JsonSchemaObject[] {
  const types = [...new Set(named.map(({ type }) => type as string))];
  return types.length < 2 ? named.slice(0, 1) : [{ type: types }];
}

function withOneEnum(literals: readonly JsonSchemaObject[]): JsonSchemaObject[] {
  const types = [...new Set(literals.map(({ type }) => type as string))];
  return types.map((type) => {
    const values = literals.filter((each) => each.type === type).flatMap((each) => each.enum);
    return { type, enum: [...new Set(values)] };
  });
}
