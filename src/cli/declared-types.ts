import {
  type Client,
  type ClientOptions,
  createClient,
  failure,
  type Link,
  type Middleware,
  type Params,
} from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import { byteTypes, fileParam } from "./byte-files.ts";
import type { LinkOptions } from "./link-from-url.ts";
import { hasNames, namedWord, paramsFrom, type ReadWord } from "./params.ts";

/** How long a server may take to describe its methods before the words are read as JSON. */
const describeMs = 2_000;

/** What a server says of the params of one method. */
interface Declared {
  readonly document: OpenrpcDocument | undefined;
  readonly schemaAt: (path: readonly string[]) => unknown;
  /** The names of params that the method takes by position only. */
  readonly places: readonly string[];
}

const nothing: Declared = { document: undefined, schemaAt: () => undefined, places: [] };

/** A call as the server declares its method. */
export interface DeclaredCall {
  readonly params: Params | undefined;
  /** The client that makes it: with rich values, if the server has any. */
  readonly client: Client;
  /** A value of the server as JSON. */
  readonly shown: (value: unknown) => unknown;
}

/** A call as the user wrote it. */
export interface WrittenCall {
  readonly link: Link;
  readonly clientOptions: ClientOptions;
  readonly method: string;
  readonly words: readonly string[];
}

export interface DeclaredCallOptions extends LinkOptions {
  readonly signal: AbortSignal;
  /** Whether the caller wants rich values, whatever the server declares. @default false */
  readonly wantsRich?: boolean | undefined;
}

/**
 * The params of a call by the types that the server declares: `order=7` stays a string, `photo=@sea.jpg` is a file where
 * the method takes one, and a method that takes its params by position gets them so. Asks the server only if words are
 * named, and leaves the exchange out of the transcript.
 */
export async function declaredCall(
  client: Client,
  { link, clientOptions, method, words }: WrittenCall,
  options: DeclaredCallOptions,
): Promise<DeclaredCall> {
  const { wantsRich = false } = options;
  if (!hasNames(words) && !wantsRich) {
    return { params: await paramsFrom(words), client, shown: asItIs };
  }
  const { document, schemaAt, places } = await declaredOf(client, method, options);
  const read = await wordReader(words, schemaAt);
  const params = inPlaces(await paramsFrom(words, read), places);
  const { declaredValues, hasRichValues, naturalJson } = await import("callwire/openrpc");
  if (!hasRichValues(document ?? {}) && !wantsRich) return { params, client, shown: asItIs };
  const use = document === undefined ? [] : [declaredValues(document)];
  const own = { ...clientOptions, use: [...(clientOptions.use ?? []), plainErrors, ...use] };
  const rich = createClient(link, { ...own, values: "rich" });
  return { params, client: rich, shown: naturalJson };
}

export const asItIs = (value: unknown): unknown => value;

/** The data of errors is only shown, so it stays as it was sent. */
const plainErrors: Middleware = (next) => async (request, context) => {
  const reply = await next(request, context);
  return reply?.error === undefined ? reply : failure(reply.error);
};

/** Reads words by their schemas. Files are opened before, because that takes time. */
async function wordReader(
  words: readonly string[],
  schemaAt: Declared["schemaAt"],
): Promise<ReadWord> {
  const files = new Map<string, unknown>();
  for (const word of words) {
    const [path, text] = namedWord(word);
    const type = richTypes(schemaAt(path)).find((each) => byteTypes.includes(each));
    if (type !== undefined && /^@./.test(text)) {
      files.set(path.join("."), await fileParam(text.slice(1), type));
    }
  }
  return (path, word) => {
    const file = files.get(path.join("."));
    if (file !== undefined) return file;
    const schema = schemaAt(path);
    if (richTypes(schema).includes("date")) return isoDate(word);
    return isOnlyText(schema, word) ? word : undefined;
  };
}

/** The server says what is wrong with anything else. */
function isoDate(word: string): string | undefined {
  const date = new Date(word);
  if (Number.isNaN(date.getTime())) return word === "null" ? undefined : word;
  return date.toISOString();
}

/** The params as an array, if their names are the first places, without a gap; otherwise unchanged. */
function inPlaces(params: Params | undefined, places: readonly string[]): Params | undefined {
  if (params === undefined || Array.isArray(params)) return params;
  const names = Object.keys(params);
  const given = places.slice(0, names.length);
  const isWhole = given.length === names.length && given.every((place) => names.includes(place));
  return isWhole ? given.map((place) => (params as Record<string, unknown>)[place]) : params;
}

async function declaredOf(
  client: Client,
  method: string,
  { transcript, signal }: DeclaredCallOptions,
): Promise<Declared> {
  const { readDocument } = await import("callwire/openrpc");
  try {
    if (transcript !== undefined) transcript.isPaused = true;
    const options = { timeoutMs: describeMs, signal };
    return declaredIn(readDocument(await client.call("rpc.discover", undefined, options)), method);
  } catch {
    // Many servers do not describe themselves; the call itself reports a missing connection.
    return nothing;
  } finally {
    if (transcript !== undefined) transcript.isPaused = false;
  }
}

function declaredIn(document: OpenrpcDocument, name: string): Declared {
  const method = document.methods.find((each) => each.name === name);
  const params = method?.params ?? [];
  const properties = Object.fromEntries(params.map((each) => [each.name, each.schema]));
  return {
    document,
    schemaAt: (path) => schemaAt({ properties }, path, document.components?.schemas),
    places: method?.paramStructure === "by-position" ? params.map((each) => each.name) : [],
  };
}

/** Deepest chain of references; one that refers to itself must end. */
const deepest = 16;

/** Whether the value at a path must be a string, even if the word looks like JSON. */
export function takesText(root: unknown, path: readonly string[], word: string): boolean {
  return isOnlyText(schemaAt(root, path), word);
}

function isOnlyText(schema: unknown, word: string): boolean {
  const types = typesOf(schema).map((type) => type ?? "any");
  const others = types.filter((type) => type !== "string");
  if (others.length === types.length) return false;
  return others.every((type) => type === "null" && word !== "null");
}

/** The schema of the value at a path; undefined if there is none. */
function schemaAt(
  root: unknown,
  path: readonly string[],
  schemas: Readonly<Record<string, unknown>> = {},
): unknown {
  const resolved = (schema: unknown): unknown => {
    let found = schema;
    for (let i = 0; i < deepest; i++) {
      const { $ref } = (found ?? {}) as { $ref?: unknown };
      const [, name = ""] = /^#\/components\/schemas\/([^/]+)$/.exec(String($ref)) ?? [];
      if (!Object.hasOwn(schemas, name)) return found;
      found = schemas[name];
    }
    return undefined;
  };
  let schema = root;
  for (const name of path) {
    const { properties } = (resolved(schema) ?? {}) as { properties?: unknown };
    if (!Object.hasOwn(properties ?? {}, name)) return undefined;
    schema = (properties as Record<string, unknown>)[name];
  }
  return resolved(schema);
}

/** The rich types that a schema allows. */
function richTypes(schema: unknown): string[] {
  const { anyOf, oneOf = anyOf } = (schema ?? {}) as Record<string, unknown>;
  const alternatives: readonly unknown[] = Array.isArray(oneOf) ? oneOf : [schema];
  return alternatives.flatMap((each) => {
    const { "x-callwire-type": type } = (each ?? {}) as { "x-callwire-type"?: unknown };
    return typeof type === "string" ? [type] : [];
  });
}

function typesOf(schema: unknown): readonly unknown[] {
  const { anyOf, oneOf = anyOf, type } = (schema ?? {}) as Record<string, unknown>;
  return Array.isArray(oneOf) ? oneOf.map(typeOf) : [type].flat();
}

/** The only type of a schema, if it has one. */
export function typeOf(schema: unknown): string | undefined {
  const { type } = (schema ?? {}) as { type?: unknown };
  return typeof type === "string" ? type : undefined;
}
