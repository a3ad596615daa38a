import type { ByteKind } from "./attachments.ts";
import type { Schema } from "./standard-schema.ts";

/**
 * A schema of bytes, as a `Uint8Array`. Callers need `values: "rich"`.
 * @example
 * ```ts
 * import { bytes, createServer, method } from "callwire";
 *
 * const server = createServer({
 *   key: method({ result: bytes() }, () => crypto.getRandomValues(new Uint8Array(32))),
 * });
 * ```
 */
export function bytes(): Schema<Uint8Array> {
  const json = { type: "string", contentEncoding: "base64", "x-callwire-type": "bytes" };
  return schemaOf(json, "a Uint8Array", (value) => value instanceof Uint8Array);
}

/**
 * A schema of a stream of bytes, for files that are too long for memory. Callers need `values: "rich"`.
 * @example
 * ```ts
 * import { byteStream, createServer, method } from "callwire";
 *
 * const server = createServer({
 *   backup: method({ result: byteStream() }, () => new Blob(["all of it"]).stream()),
 * });
 * ```
 */
export function byteStream(): Schema<ReadableStream<Uint8Array>> {
  const json = descriptorSchema("stream");
  return schemaOf(json, "a ReadableStream", (value) => value instanceof ReadableStream);
}

/** The JSON Schema of the placeholder for a Blob, a File or a stream in a message. */
export function descriptorSchema(kind: Exclude<ByteKind, "bytes">): object {
  const about = { size: { type: "integer", minimum: 0 }, type: { type: "string" } };
  return {
    type: "object",
    properties: {
      data: { type: "string", contentEncoding: "base64" },
      part: { type: "integer", minimum: 1 },
      ...(kind === "stream" ? undefined : about),
      ...(kind === "file" && { name: { type: "string" }, lastModified: { type: "number" } }),
    },
    ...(kind === "stream" ? undefined : { required: ["size"] }),
    "x-callwire-type": kind,
  };
}

function schemaOf<Value>(
  json: object,
  what: string,
  test: (value: unknown) => boolean,
): Schema<Value> {
  const jsonSchema = () => ({ ...json });
  return {
    "~standard": {
      version: 1,
      vendor: "callwire",
      validate: (value) =>
        test(value) ? { value: value as Value } : { issues: [{ message: `must be ${what}` }] },
      jsonSchema: { input: jsonSchema, output: jsonSchema },
    },
  };
}
