import { Identifiers, isIdentifier, linesOf, literalOf } from "./generated-code.ts";
import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";
import { richKeyword } from "./rich-schema.ts";
import { pascal } from "./shared-schemas.ts";

const deepest = 32;

/** Keywords and builtins, and names that type hints in the file use. */
const keywords: readonly string[] = `
  False None True and as assert async await break class continue def del elif else except finally for
  from global if import in is lambda nonlocal not or pass raise return try while with yield match case
  type self str int float bool bytes list dict tuple set object print
  Any AsyncClient AsyncIterator Client Dict Iterator List Literal Optional Union
`
  .trim()
  .split(/\s+/);

const ownNames = `
  AsyncGenerator Awaitable Callable Coroutine Deque Generator Mapping Sequence Tuple TypedDict TypeVar
  TYPE_CHECKING TypeAlias annotations Api AsyncApi Headers RpcError WireError Params
  asyncio atexit base64 collections contextlib datetime hashlib http itertools json math os select socket ssl
  staticmethod threading urllib BaseException EOFError Exception IndexError KeyError OSError
  RecursionError TimeoutError TypeError UnicodeError ValueError abs any bytearray callable enumerate
  isinstance len min next range sorted super
`
  .trim()
  .split(/\s+/);

/** Maps, sets and URLs stay in their JSON form: members of Python's sets must be hashable. */
const richHints: ReadonlyMap<unknown, string> = new Map([
  ["date", "datetime"],
  ["bigint", "int"],
  ["bytes", "bytes"],
  ["buffer", "bytes"],
  ["blob", "bytes"],
  ["file", "bytes"],
  ["stream", "bytes"],
]);

/** Turns a name into a valid Python identifier. */
export function pythonName(name: string): string {
  const made = name.replace(/[^A-Za-z0-9_]+/g, "_");
  // Names with a leading underscore are private, and with two may have a meaning in Python.
  if (!/^[A-Za-z]/.test(made)) return `x${made.startsWith("_") ? "" : "_"}${made}`;
  return keywords.includes(made) ? `${made}_` : made;
}

/** Writes JSON Schemas as Python type hints; objects become TypedDicts. */
export class PythonTypes {
  readonly #names = new Map<string | undefined, string>();
  readonly #identifiers: Identifiers;
  readonly #classes: string[] = [];
  readonly #aliases: (readonly [name: string, hint: string])[] = [];

  /** `others` are names of methods and arguments, which would hide a type of the same name. */
  constructor(schemas: Readonly<Record<string, JsonSchema>>, others: Iterable<string>) {
    this.#identifiers = new Identifiers([...keywords, ...ownNames, ...others], pythonName);
    for (const name of Object.keys(schemas)) {
      this.#names.set(name, this.#identifiers.claim(isIdentifier(name) ? name : pascal(name)));
    }
    for (const [key, schema] of Object.entries(schemas)) this.#declare(key, schema);
  }

  /** A unique name for another class of the file. */
  claim(name: string): string {
    return this.#identifiers.claim(name);
  }

  /** Identifiers for a scope with type hints, which must not hide types. */
  scope(): Identifiers {
    return new Identifiers([...keywords, ...this.#names.values()], pythonName);
  }

  /** The classes of all objects so far, and the other shared types. */
  declarations(): string[] {
    if (this.#aliases.length === 0) return this.#classes;
    const hints = this.#aliases.map(
      ([name, hint]) => `    ${name}: TypeAlias = ${literalOf(hint)}`,
    );
    const anything = this.#aliases.map(([name]) => `    ${name} = Any`);
    // Only type checkers allow types to refer to each other in any order.
    return [
      ...this.#classes,
      [
        "if TYPE_CHECKING:",
        "    from typing import TypeAlias",
        ...hints,
        "else:",
        ...anything,
      ].join("\n"),
    ];
  }

  /** The type hint of a schema; `place` is the name for an unnamed type. */
  hint(schema: JsonSchema, place: string, depth = 0): string {
    if (typeof schema === "boolean" || depth > deepest) return "Any";
    const hint = this.#hint(schema, place, depth);
    return schema.nullable === true && hint !== "Any" ? `Optional[${hint}]` : hint;
  }

  #declare(key: string, schema: JsonSchema): void {
    const name = this.#names.get(key) as string;
    if (typeof schema === "object" && isRecord(schema)) this.#class(name, schema, 0);
    else this.#aliases.push([name, this.hint(schema, name)]);
  }

  #hint(schema: JsonSchemaObject, place: string, depth: number): string {
    const { $ref, const: constant, enum: values, allOf, anyOf, oneOf, type, items } = schema;
    if (typeof $ref === "string") {
      return this.#names.get(componentOf($ref)) ?? "Any";
    }
    const rich = richHints.get(schema[richKeyword]);
    if (rich !== undefined) return rich;
    if (constant !== undefined) return literals([constant]);
    if (Array.isArray(values)) return literals(values);
    const choice = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : undefined;
    if (choice !== undefined) {
      return union(
        choice.map((part, i) => this.hint(part as JsonSchema, `${place}${i + 1}`, depth + 1)),
      );
    }
    if (Array.isArray(allOf)) {
      const [only] = allOf;
      const isAlone = allOf.length === 1 && schema.properties === undefined;
      return isAlone ? this.hint(only as JsonSchema, place, depth + 1) : "Dict[str, Any]";
    }
    if (isRecord(schema)) {
      const name = this.#identifiers.claim(place);
      this.#class(name, schema, depth);
      return name;
    }
    const types = Array.isArray(type) ? type : [type ?? (items === undefined ? "" : "array")];
    return union(types.map((one: unknown) => this.#simple(one, schema, place, depth)));
  }

  #simple(type: unknown, schema: JsonSchemaObject, place: string, depth: number): string {
    const { items, prefixItems, additionalProperties: others } = schema;
    if (type === "string") return "str";
    if (type === "integer") return "int";
    if (type === "number") return "float";
    if (type === "boolean") return "bool";
    if (type === "null") return "None";
    const inner = (one: unknown, suffix: string): string =>
      this.hint((one ?? true) as JsonSchema, place + suffix, depth + 1);
    if (type === "object") {
      return `Dict[str, ${typeof others === "object" ? inner(others, "Value") : "Any"}]`;
    }
    if (type !== "array") return "Any";
    // JSON arrays become lists, also for tuple schemas.
    const places = Array.isArray(prefixItems) ? prefixItems : items;
    if (!Array.isArray(places)) return `List[${inner(places, "Item")}]`;
    return `List[${union(places.map((one, i) => inner(one, `Item${i + 1}`)))}]`;
  }

  #class(name: string, schema: JsonSchemaObject, depth: number): void {
    const { properties = {}, required = [], description } = schema;
    const needed = new Set(Array.isArray(required) ? required : []);
    const fields = Object.entries(properties).map(([key, member]) => ({
      key,
      hint: this.hint(member, name + pascal(key), depth + 1),
      required: needed.has(key),
    }));
    const isPlain = fields.every(
      ({ key }) =>
        isIdentifier(key) && !key.startsWith("__") && !key.includes("$") && !keywords.includes(key),
    );
    const about = docstring([description], "    ");
    const isMixed =
      fields.some((field) => field.required) && fields.some((field) => !field.required);
    if (!isPlain) {
      const members = fields.map(
        ({ key, hint }) =>
          // Type checkers would treat a quoted "None" as a string.
          `    ${literalOf(key)}: ${hint === "None" ? hint : literalOf(hint)},\n`,
      );
      const total = fields.every((field) => field.required) ? "" : ", total=False";
      this.#classes.push(`${name} = TypedDict("${name}", {\n${members.join("")}}${total})`);
      return;
    }
    const body = (some: readonly { key: string; hint: string }[]): string =>
      some.map(({ key, hint }) => `    ${key}: ${hint}\n`).join("") || "    pass\n";
    if (!isMixed) {
      const total =
        fields.some((field) => field.required) || fields.length === 0 ? "" : ", total=False";
      this.#classes.push(`class ${name}(TypedDict${total}):\n${about}${body(fields)}`.trimEnd());
      return;
    }
    // Two classes, because Python before 3.11 cannot mark a single member as optional.
    const base = this.#identifiers.claim(`${name}Required`);
    const always = fields.filter((field) => field.required);
    const optional = fields.filter((field) => !field.required);
    this.#classes.push(`class ${base}(TypedDict):\n${body(always)}`.trimEnd());
    this.#classes.push(`class ${name}(${base}, total=False):\n${about}${body(optional)}`.trimEnd());
  }
}

/** A docstring, escaped so that its text cannot end it. */
export function docstring(parts: readonly unknown[], indent: string): string {
  const lines = parts
    .flatMap((part) => (typeof part === "string" && part.trim() !== "" ? linesOf(part) : []))
    .map((line) => line.replaceAll("\\", "\\\\"));
  if (lines.length === 0) return "";
  const text = lines
    .map((line, i) => (i === 0 ? line.trim() : `${indent}${line}`.trimEnd()))
    .join("\n")
    // No two quotes in a row, and none before the closing ones.
    .replace(/"(?="|$)/g, '\\"');
  return `${indent}"""${text.startsWith('"') ? " " : ""}${text}${lines.length > 1 ? `\n${indent}` : ""}"""\n`;
}

function isRecord(schema: JsonSchemaObject): boolean {
  const { $ref, allOf, anyOf, oneOf, type, properties } = schema;
  const isPlain = [$ref, schema.const, schema.enum, allOf, anyOf, oneOf].every(
    (one) => one === undefined,
  );
  const hasMembers =
    typeof properties === "object" && properties !== null && Object.keys(properties).length > 0;
  return (
    isPlain && schema.nullable !== true && hasMembers && (type === undefined || type === "object")
  );
}

function union(hints: readonly string[]): string {
  const distinct = [...new Set(hints)];
  if (distinct.length === 0 || distinct.includes("Any")) return "Any";
  return distinct.length === 1 ? (distinct[0] as string) : `Union[${distinct.join(", ")}]`;
}

function literals(values: readonly unknown[]): string {
  const written = values.map((value) => {
    if (typeof value === "string") return literalOf(value);
    if (value === null) return "None";
    if (typeof value === "boolean") return value ? "True" : "False";
    return Number.isSafeInteger(value) ? String(value) : undefined;
  });
  return written.length === 0 || written.includes(undefined)
    ? "Any"
    : `Literal[${written.join(", ")}]`;
}
