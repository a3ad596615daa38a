import { descriptorSchema } from "../protocol/byte-schemas.ts";
import type { Schema } from "../protocol/standard-schema.ts";
import type { Direction, JsonSchemaObject } from "./json-schema.ts";

/** The keyword with the rich type of a value; the others describe its natural JSON form. */
export const richKeyword = "x-callwire-type";

/** What zod's converter passes to an override. */
interface Converted {
  readonly zodSchema: {
    readonly _zod: {
      readonly def: {
        readonly type: string;
        readonly keyType?: Schema;
        readonly valueType?: Schema;
      };
      readonly bag: { readonly Class?: unknown };
    };
  };
  readonly jsonSchema: Record<string, unknown>;
}

/** Options that make zod describe rich values, for which it has no JSON Schema. */
export function zodOptions(
  direction: Direction,
  describe: (schema: Schema, direction: Direction) => JsonSchemaObject,
): Record<string, unknown> {
  const inner = (schema: Schema | undefined): JsonSchemaObject => {
    const { $schema, ...json } = schema === undefined ? {} : describe(schema, direction);
    // References would point to definitions that stay behind.
    return JSON.stringify(json).includes('"$ref"') ? {} : json;
  };
  return {
    unrepresentable: "any",
    override({ zodSchema, jsonSchema }: Converted) {
      const { def, bag } = zodSchema._zod;
      const natural = naturalForm(def.type, bag.Class, () => [
        inner(def.keyType),
        inner(def.valueType),
      ]);
      if (natural === undefined) return;
      // Zod describes a file as a string, with its length and form.
      if (def.type === "file")
        for (const keyword of fileKeywords) Reflect.deleteProperty(jsonSchema, keyword);
      Object.assign(jsonSchema, natural);
    },
  };
}

const fileKeywords = ["format", "contentEncoding", "minLength", "maxLength", "anyOf"];

function naturalForm(
  type: string,
  cls: unknown,
  parts: () => readonly [JsonSchemaObject, JsonSchemaObject],
): JsonSchemaObject | undefined {
  const base64 = { type: "string", contentEncoding: "base64" };
  if (type === "date") return { type: "string", format: "date-time", [richKeyword]: "date" };
  if (type === "bigint") return { type: "string", pattern: "^-?\\d+$", [richKeyword]: "bigint" };
  if (type === "set") {
    return { type: "array", items: parts()[1], uniqueItems: true, [richKeyword]: "set" };
  }
  if (type === "map") {
    const items = { type: "array", items: parts(), minItems: 2, maxItems: 2 };
    return { type: "array", items, [richKeyword]: "map" };
  }
  if (cls === Uint8Array) return { ...base64, [richKeyword]: "bytes" };
  if (cls === ArrayBuffer) return { ...base64, [richKeyword]: "buffer" };
  if (type === "file" || cls === File) return descriptorSchema("file") as JsonSchemaObject;
  if (cls === Blob) return descriptorSchema("blob") as JsonSchemaObject;
  if (cls === ReadableStream) return descriptorSchema("stream") as JsonSchemaObject;
  if (cls === Date) return { type: "string", format: "date-time", [richKeyword]: "date" };
  return cls === URL ? { type: "string", format: "uri", [richKeyword]: "url" } : undefined;
}

/**
 * Whether a document, or a part of it, has rich values.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 * import { hasRichValues, readDocument } from "callwire/openrpc";
 *
 * const link = httpLink("http://127.0.0.1:8000/rpc");
 * const document = readDocument(await createClient(link).call("rpc.discover"));
 * const client = createClient(link, { values: hasRichValues(document) ? "rich" : "json" });
 * ```
 */
export function hasRichValues(described: unknown): boolean {
  return JSON.stringify(described).includes(`"${richKeyword}"`);
}
