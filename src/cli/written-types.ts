import type { JsonSchemaObject } from "callwire/openrpc";

/** What is known of an argument from its source. */
export interface ArgumentNotes {
  /** Empty where its type is none of the simple ones. */
  readonly schema: JsonSchemaObject;
  /** Whether it may be missing, though it has no default. */
  readonly optional?: boolean;
}

const unknown: ArgumentNotes = { schema: {} };

/**
 * Reads a type as it is written in TypeScript or in a doc comment: names of simple types, arrays,
 * literals, unions and objects of these. What is anything else is unknown, and never an error.
 */
export function writtenType(text: string): ArgumentNotes {
  try {
    return new TypeReader(text).read();
  } catch {
    return unknown;
  }
}

/** What a function of this type answers; one that may answer nothing is not told. */
export function writtenResult(text: string): JsonSchemaObject | undefined {
  const [, awaited = text] = /^\s*Promise\s*\.?<([\s\S]*)>\s*$/.exec(text) ?? [];
  const { schema, optional = false } = writtenType(awaited);
  return optional || Object.keys(schema).length === 0 ? undefined : schema;
}

/** What the type of an object says of its members, for a function that takes it apart. */
export function writtenMembers({ schema }: ArgumentNotes): Record<string, ArgumentNotes> {
  const { properties = {}, required = [] } = schema;
  const members = Object.entries(properties).map(([name, member]) => [
    name,
    { schema: member, ...(!required.includes(name) && { optional: true }) },
  ]);
  return Object.fromEntries(members);
}

const byName = new Map<string, JsonSchemaObject>([
  ["string", { type: "string" }],
  ["String", { type: "string" }],
  ["number", { type: "number" }],
  ["Number", { type: "number" }],
  ["integer", { type: "integer" }],
  ["boolean", { type: "boolean" }],
  ["Boolean", { type: "boolean" }],
  ["object", { type: "object" }],
  ["Object", { type: "object" }],
  ["Record", { type: "object" }],
  ["null", { type: "null" }],
  ["true", { type: "boolean", enum: [true] }],
  ["false", { type: "boolean", enum: [false] }],
]);

const listNames = new Set(["Array", "ReadonlyArray"]);

/** Types of which no value travels. */
const nothing = new Set(["undefined", "void"]);

const space = /(?:\s|\/\*[\s\S]*?\*\/|\/\/[^\n]*)*/y;
const token =
  /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|-?\d+(?:\.\d+)?|[\p{ID_Start}$_][\p{ID_Continue}$.]*|[\s\S]/uy;
const word = /^[\p{ID_Start}$_]/u;

/** What a union is of; `undefined` is one of them where no value may travel. */
type Alternatives = readonly (JsonSchemaObject | undefined)[];

/** Goes through a type from left to right, and throws where it does not know how to go on. */
class TypeReader {
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
  }

  read(): ArgumentNotes {
    const { schema, optional } = joined(this.#union());
    // Closure's way to say that an argument may be missing.
    const mayMiss = this.#take("=") || optional === true;
    if (this.#next < this.#tokens.length) throw new SyntaxError("not a simple type");
    return { schema, ...(mayMiss && { optional: true }) };
  }

  #union(): Alternatives {
    this.#take("|");
    const found = [...this.#list()];
    while (this.#take("|")) found.push(...this.#list());
    return found;
  }

  /** A type and the brackets behind it. */
  #list(): Alternatives {
    if (this.#take("readonly")) return this.#list();
    let found = this.#single();
    while (this.#take("[")) {
      this.#must("]");
      found = [listOf(found)];
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
    if (listNames.has(name)) return [listOf(first)];
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
      const mayMiss = this.#take("?");
      this.#must(":");
      const { schema, optional = false } = joined(this.#union());
      properties.push([name, schema]);
      if (!mayMiss && !optional) required.push(name);
      // In TypeScript the end of a line is enough.
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
  if (inner.includes("\\")) throw new SyntaxError("escapes are not read");
  return inner;
}

function listOf(alternatives: Alternatives): JsonSchemaObject {
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

/** One schema for all; empty where one of them is, as that one takes everything. */
function anyOf(schemas: readonly JsonSchemaObject[]): JsonSchemaObject {
  if (schemas.some((schema) => Object.keys(schema).length === 0)) return {};
  const [named, others] = parted(schemas, (schema) => Object.keys(schema).join() === "type");
  const [literals, forms] = parted(others, (schema) => schema.enum !== undefined);
  const all = [...withOneType(named), ...forms, ...withOneEnum(literals)];
  return all.length <= 1 ? (all[0] ?? {}) : { anyOf: all };
}

function parted<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

/** `number | null` is told in one word each, which is what a caller who is wrong gets to read. */
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
