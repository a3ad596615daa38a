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
  return schemaOf("bytes", "a Uint8Array", (value) => value instanceof Uint8Array);
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
  return schemaOf("stream", "a ReadableStream", (value) => value instanceof ReadableStream);
}

function schemaOf<Value>(
  type: string,
  what: string,
  test: (value: unknown) => boolean,
): Schema<Value> {
  const jsonSchema = () => ({ type: "string", contentEncoding: "base64", "x-callwire-type": type });
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
