import type { JsonSchema } from "../openrpc/json-schema.ts";
import {
  type OpenrpcDocument,
  type OpenrpcInfo,
  type OpenrpcMethod,
  openrpcVersion,
} from "../openrpc/specification.ts";
import { exceedsDepth } from "../protocol/limits.ts";
import type { Route } from "./routes.ts";

/** A method as callers of the gateway see it. */
export interface Offered {
  readonly route: Route;
  readonly upstream: string;
  readonly method: OpenrpcMethod;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/** Deepest nesting of a description; a deeper one could overflow the stack. */
const deepest = 256;

/**
 * The description in the result of `rpc.discover`, if it is one. Methods without a name, such as references, are left
 * out because they cannot be called.
 */
export function descriptionIn(result: unknown): OpenrpcDocument | undefined {
  const document = result as Partial<OpenrpcDocument> | null | undefined;
  if (!Array.isArray(document?.methods) || exceedsDepth(document, deepest)) return undefined;
  const methods = document.methods.filter((method) => typeof method?.name === "string");
  return { ...(document as OpenrpcDocument), methods };
}

/**
 * The methods that the upstreams describe, by their names on the gateway. If two equally specific routes lead to
 * upstreams that both have the method, `choose` decides.
 */
export function offeredMethods(
  routes: readonly Route[],
  documents: ReadonlyMap<string, OpenrpcDocument>,
  choose: (one: Offered, other: Offered) => Offered,
): Map<string, Offered> {
  const offered = new Map<string, Offered>();
  for (const [upstream, document] of documents) {
    const schemas = document.components?.schemas ?? {};
    for (const route of routes.filter(({ config }) => config.to === upstream)) {
      for (const method of document.methods) {
        const name = route.here(method.name);
        if (name === undefined || routes.some((other) => isCloser(other, route, name))) continue;
        const own = { route, upstream, method: { ...method, name }, schemas };
        const other = offered.get(name);
        if (other === undefined) offered.set(name, own);
        else if (other.upstream !== upstream) offered.set(name, choose(other, own));
      }
    }
  }
  return offered;
}

/** Whether a more specific route takes this name; an upstream cannot attract its calls by describing the method. */
function isCloser(other: Route, route: Route, name: string): boolean {
  return other.closeness > route.closeness && other.takes(name);
}

/** Rejects a config in which two upstreams offer the same method. */
export function rejectDuplicate(one: Offered, other: Offered): never {
  throw new TypeError(
    `"${other.method.name}" is offered by the upstreams "${one.upstream}" and "${other.upstream}"; ` +
      "give one of them a prefix with rename, or name the method in a route of its own",
    { cause: other.route.config },
  );
}

/** One document for the methods of several upstreams, with only the types that they use. */
export function mergedDocument(methods: Iterable<Offered>, info: OpenrpcInfo): OpenrpcDocument {
  const schemas = new MergedSchemas();
  const described = Array.from(methods, (offered) => schemas.translate(offered.method, offered));
  const all = schemas.all();
  return {
    openrpc: openrpcVersion,
    info,
    methods: described.sort((a, b) => (a.name < b.name ? -1 : 1)),
    ...(Object.keys(all).length === 0 ? undefined : { components: { schemas: all } }),
  };
}

const reference = "#/components/schemas/";

/** The types of several documents, which may use one name for different types. */
class MergedSchemas {
  readonly #schemas = new Map<string, JsonSchema>();
  /** The name of a type in the merged document, by its upstream and its name there. */
  readonly #names = new Map<string, string>();
  /** The original JSON of each type, by its name in the merged document. */
  readonly #texts = new Map<string, string>();
  /** Types that are referenced but not translated yet; a queue instead of recursion, as references may chain. */
  readonly #waiting: (() => void)[] = [];

  all(): Record<string, JsonSchema> {
    for (let next = this.#waiting.pop(); next !== undefined; next = this.#waiting.pop()) next();
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A copy with references to the names in the merged document. */
  translate<T>(value: T, from: Offered): T {
    if (Array.isArray(value)) return value.map((entry) => this.translate(entry, from)) as T;
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) =>
        key === "$ref" && typeof member === "string" && member.startsWith(reference)
          ? [key, reference + this.#nameOf(member.slice(reference.length), from)]
          : [key, this.translate(member, from)],
      ),
    ) as T;
  }

  #nameOf(there: string, from: Offered): string {
    const key = `${from.upstream}\n${there}`;
    const known = this.#names.get(key);
    if (known !== undefined) return known;
    const schema = (Object.hasOwn(from.schemas, there) && from.schemas[there]) || {};
    const name = this.#freeName(there, JSON.stringify(schema), from.upstream);
    this.#names.set(key, name);
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {});
      this.#waiting.push(() => this.#schemas.set(name, this.translate(schema, from)));
    }
    return name;
  }

  #freeName(there: string, text: string, upstream: string): string {
    let name = there;
    for (let i = 1; ; i++) {
      const taken = this.#texts.get(name);
      if (taken === undefined || (taken === text && !text.includes(reference))) {
        this.#texts.set(name, text);
        return name;
      }
      name = `${upstream}_${there}${i === 1 ? "" : i}`;
    }
  }
}
