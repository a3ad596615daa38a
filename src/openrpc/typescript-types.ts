import { Identifiers, isIdentifier, linesOf, literalOf } from "./generated-code.ts";
import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";
import { richKeyword } from "./rich-schema.ts";

/** Deepest nesting that is written; a hostile schema must not exhaust the stack. */
const deepest = 32;

/** Names that a type of the document must not use. */
export const reserved: readonly string[] = `
  any unknown never string number boolean symbol object bigint void undefined null true false
  break case catch class const continue debugger default delete do else enum export extends finally
  for function if import in instanceof new return super switch this throw try typeof var while with
  implements interface let package private protected public static yield await async type
  asserts infer intrinsic keyof readonly unique
  Array ArrayBuffer Blob Date File Map ReadableStream ReadonlySet Set URL Uint8Array Client ClientOptions Link Method Methods Middleware Schema
  connect createClient httpLink linkTo webSocketLink
`
  .trim()
  .split(/\s+/);

const richNames: ReadonlyMap<unknown, string> = new Map([
  ["date", "Date"],
  ["bigint", "bigint"],
  ["url", "URL"],
  ["bytes", "Uint8Array"],
  ["buffer", "ArrayBuffer"],
  ["blob", "Blob"],
  ["file", "File"],
  ["stream", "ReadableStream<Uint8Array>"],
]);

/** Writes JSON Schemas as TypeScript types. */
export class TypeScriptTypes {
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  readonly #names = new Map<string | undefined, string>();

  constructor(schemas: Readonly<Record<string, JsonSchema>>) {
    this.#schemas = schemas;
    const identifiers = new Identifiers(reserved);
    for (const name of Object.keys(schemas)) this.#names.set(name, identifiers.claim(name));
  }

  /** One declaration per shared type. */
  declarations(): string[] {
    return Object.entries(this.#schemas).map(([key, schema]) => {
      const name = this.#names.get(key) as string;
      const about = typeof schema === "object" ? comment([schema.description], "") : "";
      const type = this.type(schema);
      const isInterface = /^\{[\s\S]*\}$/.test(type) && isPlainObject(schema);
      return `${about}export ${isInterface ? `interface ${name} ${type}` : `type ${name} = ${type};`}`;
    });
  }

  type(schema: JsonSchema, indent = "", depth = 0): string {
    if (typeof schema === "boolean") return schema ? "unknown" : "never";
    if (depth > deepest) return "unknown";
    const type = this.#withoutNull(schema, indent, depth);
    return schema.nullable === true ? union([type, "null"]) : type;
  }

  #withoutNull(schema: JsonSchemaObject, indent: string, depth: number): string {
    const { $ref, const: constant, enum: values, allOf, anyOf, oneOf, ...own } = schema;
    if (typeof $ref === "string") {
      return this.#names.get(componentOf($ref)) ?? "unknown";
    }
    const rich = this.#rich(schema, indent, depth);
    if (rich !== undefined) return rich;
    if (constant !== undefined) return literal(constant, depth);
    if (Array.isArray(values)) return union(values.map((value) => literal(value, depth)));
    const several = (list: unknown): string[] | undefined =>
      Array.isArray(list)
        ? list.map((part) => this.type(part as JsonSchema, indent, depth + 1))
        : undefined;
    const isTyped =
      own.type !== undefined || own.properties !== undefined || own.items !== undefined;
    const parts = [
      ...(isTyped ? [this.#plain(own, indent, depth)] : []),
      ...(several(allOf) ?? []),
    ];
    for (const choice of [several(anyOf), several(oneOf)]) if (choice) parts.push(union(choice));
    return intersection(parts);
  }

  /** The type of a value that JSON cannot express; unknown names are those of a user's own types. */
  #rich(schema: JsonSchemaObject, indent: string, depth: number): string | undefined {
    const { items } = schema;
    const inner = (item: unknown): string =>
      this.type((item ?? true) as JsonSchema, indent, depth + 1);
    switch (schema[richKeyword]) {
      case "set":
        return `Set<${inner(Array.isArray(items) ? undefined : items)}>`;
      case "map": {
        const pair = (items as JsonSchemaObject | undefined)?.items;
        const [key, value] = Array.isArray(pair) ? pair : [];
        return `Map<${inner(key)}, ${inner(value)}>`;
      }
      default:
        return richNames.get(schema[richKeyword]);
    }
  }

  #plain(schema: JsonSchemaObject, indent: string, depth: number): string {
    const { type, properties, items, prefixItems } = schema;
    const guessed = properties !== undefined ? "object" : (items ?? prefixItems) ? "array" : "";
    const types = typeof type === "string" ? [type] : Array.isArray(type) ? type : [guessed];
    return union(
      types.map((name: unknown) => {
        if (name === "integer" || name === "number") return "number";
        if (name === "string" || name === "boolean" || name === "null") return name;
        if (name === "array") return this.#array(schema, indent, depth);
        return name === "object" ? this.#object(schema, indent, depth) : "unknown";
      }),
    );
  }

  #array(schema: JsonSchemaObject, indent: string, depth: number): string {
    const { items = true, prefixItems, additionalItems } = schema;
    const places = Array.isArray(prefixItems)
      ? prefixItems
      : Array.isArray(items)
        ? items
        : undefined;
    const inner = (item: unknown): string => this.type(item as JsonSchema, indent, depth + 1);
    if (places === undefined) return arrayOf(inner(items));
    const rest = Array.isArray(prefixItems) ? schema.items : (additionalItems ?? false);
    const least = typeof schema.minItems === "number" ? schema.minItems : 0;
    const members = places.map((item: unknown, i) => {
      const type = inner(item);
      return i < least ? type : `${bracketed(type)}?`;
    });
    // With `...Array<…>` a recursive type would not compile.
    if (rest !== false && rest !== undefined) members.push(`...${bracketed(inner(rest))}[]`);
    return `[${members.join(", ")}]`;
  }

  #object(schema: JsonSchemaObject, indent: string, depth: number): string {
    const { properties, required, additionalProperties, patternProperties } = schema;
    const known = typeof properties === "object" && properties !== null ? properties : {};
    const needed = new Set(Array.isArray(required) ? required : []);
    const names = Object.keys(known);
    const isOpen = additionalProperties !== undefined && additionalProperties !== false;
    const members: Member[] = names.map((name) => {
      const member = known[name] as JsonSchema;
      return {
        key: `${keyOf(name)}${needed.has(name) ? "" : "?"}`,
        type: this.type(member, `${indent}  `, depth + 1),
        about:
          typeof member === "object" && member !== null ? textOf(member.description) : undefined,
        deprecated: typeof member === "object" && member?.deprecated === true,
      };
    });
    if (names.length > 0 && (isOpen || patternProperties !== undefined)) {
      // The type of an index signature must also fit the members above.
      members.push({ key: "[name: string]", type: "unknown" });
    } else if (names.length === 0) {
      const others = isOpen ? (additionalProperties as JsonSchema) : true;
      const isEmpty = additionalProperties === false && patternProperties === undefined;
      const type = isEmpty ? "never" : this.type(others, `${indent}  `, depth + 1);
      members.push({ key: "[name: string]", type });
    }
    return objectType(members, indent);
  }
}

export interface Member {
  readonly key: string;
  readonly type: string;
  readonly about?: string | undefined;
  readonly deprecated?: boolean;
}

/** On one line if that is short and no member has a comment. */
export function objectType(members: readonly Member[], indent: string): string {
  if (members.length === 0) return "{}";
  const line = `{ ${members.map(({ key, type }) => `${key}: ${type}`).join("; ")} }`;
  const isQuiet = members.every(({ about, deprecated }) => about === undefined && !deprecated);
  if (isQuiet && indent.length + line.length <= 90 && !line.includes("\n")) return line;
  const inner = `${indent}  `;
  const lines = members.map(
    ({ key, type, about, deprecated }) =>
      `${comment([about, deprecated ? "@deprecated" : undefined], inner)}${inner}${key}: ${type};\n`,
  );
  return `{\n${lines.join("")}${indent}}`;
}

export function keyOf(name: string): string {
  return isIdentifier(name) ? name : literalOf(name);
}

/** A doc comment, escaped so that its text cannot end it. */
export function comment(parts: readonly unknown[], indent: string): string {
  const lines = parts
    .flatMap((part) => (typeof part === "string" && part.trim() !== "" ? linesOf(part) : []))
    .map((line) => line.replaceAll("*/", "*\\/"));
  if (lines.length === 0) return "";
  if (lines.length === 1) return `${indent}/** ${lines[0]?.trim()} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function isPlainObject(schema: JsonSchema): boolean {
  if (typeof schema !== "object" || schema.nullable === true) return false;
  return !["$ref", "const", "enum", "allOf", "anyOf", "oneOf"].some((key) =>
    Object.hasOwn(schema, key),
  );
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value : undefined;
}

function arrayOf(type: string): string {
  return isIdentifier(type) ? `${type}[]` : `Array<${type}>`;
}

function bracketed(type: string): string {
  return isIdentifier(type) ? type : `(${type})`;
}

function union(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== "never");
  if (distinct.includes("unknown")) return "unknown";
  return distinct.length === 0 ? "never" : distinct.join(" | ");
}

function intersection(types: readonly string[]): string {
  const distinct = [...new Set(types)].filter((type) => type !== "unknown");
  if (distinct.length === 0) return "unknown";
  return distinct.length === 1
    ? (distinct[0] as string)
    : distinct.map((type) => (type.includes(" | ") ? `(${type})` : type)).join(" & ");
}

function literal(value: unknown, depth: number): string {
  if (typeof value !== "object" || value === null) return literalOf(value);
  if (depth > deepest) return "unknown";
  if (Array.isArray(value)) return `[${value.map((item) => literal(item, depth + 1)).join(", ")}]`;
  const members = Object.entries(value).map(
    ([key, inner]) => `${keyOf(key)}: ${literal(inner, depth + 1)}`,
  );
  return members.length === 0 ? "{ [name: string]: never }" : `{ ${members.join("; ")} }`;
}
