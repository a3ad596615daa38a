import { membersOf } from "../protocol/envelope.ts";
import { exceedsDepth } from "../protocol/limits.ts";
import { isRecord } from "../protocol/record.ts";
import { circularNames } from "./circular-schemas.ts";
import { type JsonSchema, pointerKey } from "./json-schema.ts";
import { readSchema } from "./schema-reading.ts";
import type {
  ContentDescriptor,
  DescribedError,
  OpenrpcDocument,
  OpenrpcExample,
  OpenrpcMethod,
  OpenrpcServer,
} from "./specification.ts";

type Json = { readonly [name: string]: unknown };

/** Longest chain of references that is followed; stops cycles. */
const longestChain = 8;
/** Deepest nesting of a document; deeper ones would overflow the stack. */
const deepest = 1_000;

export interface ReadOptions {
  /** Called for each invalid schema, such as `"anyOf" in math/add`; it is read as one that allows anything. @default none */
  readonly onFault?: (where: string) => void;
}

/**
 * Normalizes a document of any server to the form that callwire writes. References except those to
 * schemas are resolved; members of the wrong type and schemas that only refer to themselves are
 * removed. Throws a TypeError if the value is not an OpenRPC document.
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { readDocument } from "callwire/openrpc";
 *
 * const document = readDocument(JSON.parse(await readFile("openrpc.json", "utf8")), {
 *   onFault: (where) => console.warn("not valid JSON Schema:", where),
 * });
 * console.log(document.methods.length);
 * ```
 */
export function readDocument(value: unknown, { onFault }: ReadOptions = {}): OpenrpcDocument {
  if (!isRecord(value) || typeof value.openrpc !== "string" || !Array.isArray(value.methods)) {
    throw new TypeError(
      'this is not an OpenRPC document: it needs the members "openrpc" and "methods"',
    );
  }
  if (exceedsDepth(value, deepest)) {
    throw new TypeError(`this is not an OpenRPC document: it nests deeper than ${deepest} levels`);
  }
  const document = value;
  const follow = (member: unknown): Json | undefined => followed(document, member);
  const schemaIn =
    (place: string): ReadSchema =>
    (schema) =>
      schema === undefined
        ? {}
        : readSchema(schema, (keyword) => onFault?.(`${JSON.stringify(keyword)} in ${place}`));
  const info = membersOf(value.info);
  const methods = new Map<string, OpenrpcMethod>();
  for (const entry of value.methods) {
    const method = methodOf(follow(entry), follow, schemaIn);
    if (method !== undefined && !methods.has(method.name)) methods.set(method.name, method);
  }
  const { schemas } = membersOf(value.components);
  return {
    openrpc: value.openrpc,
    info: {
      title: text(info.title) ?? "untitled",
      version: text(info.version) ?? "",
      ...texts(info, ["description"]),
    },
    servers: list(value.servers).flatMap((server) => serverOf(follow(server))),
    methods: [...methods.values()],
    components: { schemas: isRecord(schemas) ? schemasOf(schemas, schemaIn) : {} },
  };
}

type Follow = (member: unknown) => Json | undefined;
type ReadSchema = (schema: unknown) => JsonSchema;
/** Reads the schemas of a method or component, whose name is reported. */
type SchemaIn = (place: string) => ReadSchema;

function methodOf(
  method: Json | undefined,
  follow: Follow,
  schemaIn: SchemaIn,
): OpenrpcMethod | undefined {
  const name = text(method?.name);
  if (method === undefined || name === undefined) return undefined;
  const schemaOf = schemaIn(name);
  const { paramStructure, result } = method;
  const stream = method["x-stream"];
  const upload = method["x-upload"];
  const whole = method["x-params"];
  const timeoutMs = method["x-timeout-ms"];
  const described = contentOf(follow(result), schemaOf);
  const errors = list(method.errors).flatMap((error) => errorOf(follow(error)));
  const named = list(method["x-errors"]).flatMap((error) => namedErrorOf(follow(error), schemaOf));
  return {
    name,
    ...texts(method, ["summary", "description"]),
    tags: list(method.tags).flatMap((tag) => {
      const tagName = text(follow(tag)?.name);
      return tagName === undefined ? [] : [{ name: tagName }];
    }),
    paramStructure:
      paramStructure === "by-name" || paramStructure === "by-position" ? paramStructure : "either",
    params: unique(
      list(method.params).flatMap((param) => contentOf(follow(param), schemaOf) ?? []),
    ),
    ...(described === undefined ? undefined : { result: described }),
    errors,
    examples: list(method.examples).flatMap((example) => exampleOf(follow(example), follow)),
    deprecated: method.deprecated === true,
    ...(isRecord(stream) ? { "x-stream": { item: schemaOf(stream.item) } } : undefined),
    ...(isRecord(upload) ? { "x-upload": { item: schemaOf(upload.item) } } : undefined),
    "x-idempotent": method["x-idempotent"] === true,
    ...(typeof timeoutMs === "number" ? { "x-timeout-ms": timeoutMs } : undefined),
    ...(named.length === 0 ? undefined : { "x-errors": named }),
    ...(whole === undefined ? undefined : { "x-params": schemaOf(whole) }),
  };
}

function contentOf(content: Json | undefined, schemaOf: ReadSchema): ContentDescriptor | undefined {
  const name = text(content?.name);
  if (content === undefined || name === undefined) return undefined;
  return {
    name,
    ...texts(content, ["summary", "description"]),
    required: content.required === true,
    deprecated: content.deprecated === true,
    schema: schemaOf(content.schema),
  };
}

function errorOf(error: Json | undefined): { code: number; message: string }[] {
  const { code, message } = error ?? {};
  return Number.isInteger(code) ? [{ code: code as number, message: text(message) ?? "" }] : [];
}

function namedErrorOf(error: Json | undefined, schemaOf: ReadSchema): DescribedError[] {
  return errorOf(error).flatMap(({ code, message }) => {
    const name = text(error?.name);
    if (name === undefined) return [];
    const data = error?.data;
    return [{ name, code, message, ...(data === undefined ? {} : { data: schemaOf(data) }) }];
  });
}

function exampleOf(example: Json | undefined, follow: Follow): OpenrpcExample[] {
  if (example === undefined) return [];
  const result = follow(example.result);
  const stream = example["x-stream"];
  return [
    {
      name: text(example.name) ?? "example",
      params: list(example.params).flatMap((param) => {
        const { name, value } = follow(param) ?? {};
        return text(name) === undefined ? [] : [{ name: text(name) as string, value }];
      }),
      ...(result === undefined ? {} : { result: { name: "result", value: result.value } }),
      ...(isRecord(stream) ? { "x-stream": { items: list(stream.items) } } : {}),
      ...(Array.isArray(example["x-params"]) ? { "x-params": example["x-params"] } : {}),
    },
  ];
}

function serverOf(server: Json | undefined): OpenrpcServer[] {
  const url = text(server?.url);
  if (server === undefined || url === undefined) return [];
  return [{ url, ...texts(server, ["name", "summary", "description"]) }];
}

function schemasOf(schemas: Json, schemaIn: SchemaIn): Record<string, JsonSchema> {
  const read = Object.fromEntries(
    Object.entries(schemas).map(([name, schema]) => [name, schemaIn(name)(schema)]),
  );
  const circular = circularNames(read);
  return Object.fromEntries(
    Object.entries(read).map(([name, schema]) => [name, circular.has(name) ? {} : schema]),
  );
}

function followed(document: Json, member: unknown): Json | undefined {
  let found = member;
  for (let i = 0; i < longestChain; i++) {
    if (!isRecord(found)) return undefined;
    const { $ref } = found;
    if (typeof $ref !== "string") return found;
    found = pointedAt(document, $ref);
  }
  return undefined;
}

function pointedAt(document: Json, ref: string): unknown {
  if (!ref.startsWith("#/")) return undefined;
  return ref
    .slice(2)
    .split("/")
    .map(pointerKey)
    .reduce<unknown>(
      (found, part) =>
        typeof found === "object" && found !== null && Object.hasOwn(found, part)
          ? (found as Json)[part]
          : undefined,
      document,
    );
}

function unique(params: readonly ContentDescriptor[]): ContentDescriptor[] {
  return [...new Map(params.map((param) => [param.name, param])).values()];
}

function texts<Name extends string>(from: Json, names: readonly Name[]): { [N in Name]?: string } {
  const found = names.flatMap((name) =>
    typeof from[name] === "string" ? [[name, from[name]]] : [],
  );
  return Object.fromEntries(found) as { [N in Name]?: string };
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
