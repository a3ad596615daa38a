import type { Client, Params } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import type { LinkOptions } from "./link-from-url.ts";
import { hasNames, type IsText, paramsFrom } from "./params.ts";

/** How long a server may take to describe its methods before the words are read as JSON. */
const describeMs = 2_000;

/** What a server says of the params of one method. */
interface Declared {
  readonly isText: IsText;
  /** The names of params that the method takes by position only. */
  readonly places: readonly string[];
}

const nothing: Declared = { isText: () => false, places: [] };

/**
 * The params of a call; named ones that the server declares as strings stay strings, such as `order=7`, and those of a
 * method that takes them by position are sent so. Asks the server only if words are named, and leaves the exchange out
 * of the transcript.
 */
export async function declaredParams(
  client: Client,
  method: string,
  words: readonly string[],
  options: LinkOptions & { readonly signal: AbortSignal },
): Promise<Params | undefined> {
  if (!hasNames(words)) return paramsFrom(words);
  const { isText, places } = await declaredOf(client, method, options);
  return inPlaces(await paramsFrom(words, isText), places);
}

/** An array, if the places from the first one on are what was given. */
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
  { transcript, signal }: LinkOptions & { readonly signal: AbortSignal },
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

function declaredIn({ methods, components }: OpenrpcDocument, name: string): Declared {
  const method = methods.find((each) => each.name === name);
  const params = method?.params ?? [];
  const properties = Object.fromEntries(params.map((each) => [each.name, each.schema]));
  const schemas: Readonly<Record<string, unknown>> = components?.schemas ?? {};
  return {
    isText: (path, word) => takesText({ properties }, path, word, schemas),
    places: method?.paramStructure === "by-position" ? params.map((each) => each.name) : [],
  };
}

/** Deepest chain of references; one that refers to itself must end. */
const deepest = 16;

/** Whether the value at a path must be a string, even if the word looks like JSON. */
export function takesText(
  root: unknown,
  path: readonly string[],
  word: string,
  schemas: Readonly<Record<string, unknown>> = {},
): boolean {
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
    if (!Object.hasOwn(properties ?? {}, name)) return false;
    schema = (properties as Record<string, unknown>)[name];
  }
  const types = typesOf(resolved(schema)).map((type) => type ?? "any");
  const others = types.filter((type) => type !== "string");
  if (others.length === types.length) return false;
  return others.every((type) => type === "null" && word !== "null");
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
