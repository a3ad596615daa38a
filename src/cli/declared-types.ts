import type { Client, Params } from "callwire";
import type { OpenrpcDocument } from "callwire/openrpc";
import type { LinkOptions } from "./link-from-url.ts";
import { hasJsonValues, type IsText, paramsFrom } from "./params.ts";

/** How long a server may take to describe its methods before the words are read as JSON. */
const describeMs = 2_000;

/**
 * The params of a call; named ones that the server declares as strings stay strings, such as `order=7`. Asks the server
 * only if a word could be something else, and leaves the exchange out of the transcript.
 */
export async function declaredParams(
  client: Client,
  method: string,
  words: readonly string[],
  options: LinkOptions & { readonly signal: AbortSignal },
): Promise<Params | undefined> {
  if (!hasJsonValues(words)) return paramsFrom(words);
  return paramsFrom(words, await declaredText(client, method, options));
}

async function declaredText(
  client: Client,
  method: string,
  { transcript, signal }: LinkOptions & { readonly signal: AbortSignal },
): Promise<IsText> {
  const { readDocument } = await import("callwire/openrpc");
  try {
    if (transcript !== undefined) transcript.isPaused = true;
    const options = { timeoutMs: describeMs, signal };
    return textIn(readDocument(await client.call("rpc.discover", undefined, options)), method);
  } catch {
    // Many servers do not describe themselves; the call itself reports a missing connection.
    return () => false;
  } finally {
    if (transcript !== undefined) transcript.isPaused = false;
  }
}

function textIn({ methods, components }: OpenrpcDocument, name: string): IsText {
  const method = methods.find((each) => each.name === name);
  const params = method?.params ?? [];
  const properties = Object.fromEntries(params.map((each) => [each.name, each.schema]));
  const schemas: Readonly<Record<string, unknown>> = components?.schemas ?? {};
  return (path, word) => takesText({ properties }, path, word, schemas);
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
