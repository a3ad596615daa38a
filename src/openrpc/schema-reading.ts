import { isRecord } from "../protocol/record.ts";
import type { JsonSchema, JsonSchemaObject } from "./json-schema.ts";

/** Called with each keyword that has an invalid value. */
export type ReportFault = (keyword: string) => void;

/** Deepest nesting that is read; a hostile schema must not exhaust the stack. */
const deepest = 64;

type Read = (value: unknown, keyword: string, depth: number, report: ReportFault) => unknown;

/** Readers of keywords whose type matters; undefined removes the keyword. */
const keywords: ReadonlyMap<string, Read> = new Map<string, Read>([
  ...named(
    "$ref title description",
    when((value) => typeof value === "string"),
  ),
  ["type", typeNames],
  ["enum", when(Array.isArray)],
  ["required", texts],
  ...named("allOf anyOf oneOf", combination),
  ["prefixItems", schemaList],
  ["items", (...read) => (Array.isArray(read[0]) ? schemaList(...read) : inner(...read))],
  ...named("not if then else contains propertyNames additionalProperties additionalItems", inner),
  ...named("unevaluatedItems unevaluatedProperties", inner),
  ...named("properties patternProperties definitions $defs dependentSchemas", schemaMap),
  ["dependentRequired", textLists],
]);

/**
 * Makes a JSON Schema of another program match its type. Anything that is not a schema becomes one that allows any
 * value, and keywords with a value of the wrong type are removed. Use it to describe or show a schema, not to validate:
 * the result may accept values that the schema was meant to reject.
 */
export function readSchema(schema: unknown, report: ReportFault = () => {}): JsonSchema {
  return inner(schema, "schema", 0, report);
}

/** The same, if only an object is acceptable. */
export function readSchemaObject(schema: unknown, report?: ReportFault): JsonSchemaObject {
  const read = readSchema(schema, report);
  return typeof read === "object" ? read : {};
}

function inner(value: unknown, keyword: string, depth: number, report: ReportFault): JsonSchema {
  if (typeof value === "boolean") return value;
  if (!isRecord(value)) {
    report(keyword);
    return {};
  }
  if (depth > deepest) return {};
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
      const read = keywords.get(name);
      if (read === undefined) return [[name, member]];
      const found = read(member, name, depth + 1, report);
      return found === undefined ? [] : [[name, found]];
    }),
  );
}

function schemaList(
  value: unknown,
  keyword: string,
  depth: number,
  report: ReportFault,
): readonly JsonSchema[] | undefined {
  if (Array.isArray(value)) return value.map((each) => inner(each, keyword, depth, report));
  report(keyword);
  return undefined;
}

/** Without a schema to combine, JSON Schema does not define what is allowed. */
function combination(...read: Parameters<Read>): readonly JsonSchema[] | undefined {
  const schemas = schemaList(...read);
  if (schemas?.length !== 0) return schemas;
  const [, keyword, , report] = read;
  report(keyword);
  return undefined;
}

function schemaMap(
  value: unknown,
  keyword: string,
  depth: number,
  report: ReportFault,
): Readonly<Record<string, JsonSchema>> | undefined {
  if (!isRecord(value)) {
    report(keyword);
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, inner(each, keyword, depth, report)]),
  );
}

function typeNames(value: unknown, keyword: string, depth: number, report: ReportFault): unknown {
  if (typeof value === "string") return value;
  const names = texts(value, keyword, depth, report);
  return Array.isArray(names) && names.length === 0 ? undefined : names;
}

function texts(value: unknown, keyword: string, _: number, report: ReportFault): unknown {
  const strings = Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
  if (!Array.isArray(value) || strings.length < value.length) report(keyword);
  return Array.isArray(value) ? strings : undefined;
}

function textLists(value: unknown, keyword: string, depth: number, report: ReportFault): unknown {
  if (!isRecord(value)) {
    report(keyword);
    return undefined;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, texts(each, keyword, depth, report) ?? []]),
  );
}

function when(isRight: (value: unknown) => boolean): Read {
  return (value, keyword, _, report) => {
    if (isRight(value)) return value;
    report(keyword);
    return undefined;
  };
}

function named(names: string, read: Read): [string, Read][] {
  return names.split(" ").map((name) => [name, read]);
}
