import type { Context } from "../protocol/context.ts";
import type { Middleware } from "../protocol/handle.ts";
import { escaped } from "../protocol/json-pointer.ts";
import type { Params, TypedPaths } from "../protocol/message.ts";
import { ValueCodec } from "../protocol/value-codec.ts";
import { componentOf, type JsonSchema, type JsonSchemaObject } from "./json-schema.ts";
import { richKeyword } from "./rich-schema.ts";
import type { OpenrpcDocument, OpenrpcMethod } from "./specification.ts";

/**
 * Middleware for clients that know the methods of a server by its document only. Params are given as JSON, and those that
 * the document declares as rich values arrive as such: an ISO string as a `Date`. The client needs `values: "rich"`.
 * @example
 * ```ts
 * import { createClient } from "callwire";
 * import { httpLink } from "callwire/http";
 * import { declaredValues, readDocument } from "callwire/openrpc";
 *
 * const link = httpLink("http://127.0.0.1:8000/rpc");
 * const document = readDocument(await createClient(link).call("rpc.discover"));
 * const client = createClient(link, { values: "rich", use: [declaredValues(document)] });
 * await client.call("next", { after: "2026-11-18T05:00:00.000Z" });
 * ```
 */
export function declaredValues(document: OpenrpcDocument): Middleware {
  const methods = new Map(document.methods.map((method) => [method.name, method]));
  const schemas = document.components?.schemas ?? {};
  return (next) => (request, context: Context) => {
    const { method, params, types } = request;
    const described = methods.get(method);
    if (described === undefined || params === undefined || types === undefined) {
      return next(request, context);
    }
    const search = new Search(schemas, types);
    search.visit(paramsSchema(described, params), params, "");
    return next({ ...request, types: search.types }, context);
  };
}

/**
 * A rich value as JSON, in the form that OpenRPC documents describe: a `Date` as an ISO string, a `Blob` by its size and
 * media type. It is for people to read; bytes of files are left out. A value that is nested too deeply to be converted
 * is returned as it is.
 * @example
 * ```ts
 * import { naturalJson } from "callwire/openrpc";
 *
 * console.log(naturalJson({ seats: 2n ** 60n, tags: new Set(["new"]) }));
 * // { seats: "1152921504606846976", tags: ["new"] }
 * ```
 */
export function naturalJson(value: unknown): unknown {
  try {
    const typed = new ValueCodec().encode(value, true);
    return typed === undefined ? value : typed.value;
  } catch (error) {
    if (error instanceof RangeError) return value;
    throw error;
  }
}

function paramsSchema({ params, "x-params": whole }: OpenrpcMethod, given: Params): JsonSchema {
  if (params.length === 0) return whole ?? {};
  if (Array.isArray(given)) return { type: "array", items: params.map(({ schema }) => schema) };
  return {
    type: "object",
    properties: Object.fromEntries(params.map(({ name, schema }) => [name, schema])),
  };
}

/** Longest chain of references or alternatives: one that leads to itself leads nowhere. */
const deepest = 16;

/** Finds the rich values that a schema declares in JSON. */
class Search {
  readonly #found: Map<string, readonly string[]>;
  readonly #schemas: Readonly<Record<string, JsonSchema>>;
  /** Paths of values whose type the client knows by itself, such as that of a file. */
  readonly #known: ReadonlySet<string>;

  constructor(schemas: Readonly<Record<string, JsonSchema>>, types: TypedPaths) {
    this.#schemas = schemas;
    this.#found = new Map(Object.entries(types));
    this.#known = new Set(Object.values(types).flat());
  }

  get types(): TypedPaths {
    return Object.fromEntries(this.#found);
  }

  visit(schema: JsonSchema | undefined, value: unknown, path: string): void {
    const fitting = this.#fitting(schema, value);
    if (fitting === undefined || this.#known.has(path)) return;
    const { [richKeyword]: type, properties = {}, additionalProperties, items } = fitting;
    if (typeof type === "string") this.#found.set(type, [...(this.#found.get(type) ?? []), path]);
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) {
        const of = Array.isArray(items) ? (items as readonly JsonSchema[])[i] : items;
        this.visit(of as JsonSchema | undefined, item, `${path}/${i}`);
      }
    } else if (isObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        const of = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
        this.visit(of, member, `${path}/${escaped(name)}`);
      }
    }
  }

  /** The schema, or the alternative of it, that a value has the form of; a plain one before a rich one. */
  #fitting(schema: JsonSchema | undefined, value: unknown, deep = 0): JsonSchemaObject | undefined {
    const known = this.#resolved(schema);
    const { oneOf, anyOf = oneOf } = known ?? {};
    if (!Array.isArray(anyOf)) return known !== undefined && fits(known, value) ? known : undefined;
    if (deep > deepest) return undefined;
    const all = (anyOf as readonly JsonSchema[])
      .map((each) => this.#fitting(each, value, deep + 1))
      .filter((each) => each !== undefined);
    return all.find((each) => each[richKeyword] === undefined) ?? all[0];
  }

  #resolved(schema: JsonSchema | undefined): JsonSchemaObject | undefined {
    let found = schema;
    for (let i = 0; i <= deepest; i++) {
      if (typeof found !== "object") return undefined;
      const name = found.$ref === undefined ? undefined : componentOf(found.$ref);
      if (name === undefined) return found;
      found = Object.hasOwn(this.#schemas, name) ? this.#schemas[name] : undefined;
    }
    return undefined;
  }
}

function fits({ type, properties = {}, required = [] }: JsonSchemaObject, value: unknown): boolean {
  if (value === null) return type === "null";
  const types = type === undefined ? [] : [type].flat();
  if (types.length > 0 && !types.some((each) => isOf(each, value))) return false;
  if (!isObject(value)) return true;
  const isOther = ([name, member]: [string, JsonSchema]): boolean => {
    const { const: only } = typeof member === "object" ? member : {};
    return only !== undefined && value[name] !== only;
  };
  return (
    required.every((name) => Object.hasOwn(value, name)) &&
    !Object.entries(properties).some(isOther)
  );
}

function isOf(type: string, value: unknown): boolean {
  if (Array.isArray(value)) return type === "array";
  return type === typeof value || (type === "integer" && typeof value === "number");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
