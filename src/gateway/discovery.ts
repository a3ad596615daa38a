import type { JsonSchema } from "../openrpc/json-schema.ts";
import {
  type OpenrpcDocument,
  type OpenrpcInfo,
  type OpenrpcMethod,
  openrpcVersion,
} from "../openrpc/specification.ts";
import type { Route } from "./routes.ts";

/** A method as callers of the gateway see it. */
export interface Offered {
  readonly route: Route;
  readonly upstream: string;
  readonly method: OpenrpcMethod;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/**
 * The methods of all upstreams by the names that they have here, of what these say of themselves. Where two routes are equally close and
 * both upstreams have a method of the name, nobody could say which one is meant, so that is for `choose`.
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
        if (name === undefined) continue;
        const own = { route, upstream, method: { ...method, name }, schemas };
        const other = offered.get(name);
        if (other === undefined || route.closeness > other.route.closeness) offered.set(name, own);
        else if (route.closeness === other.route.closeness && other.upstream !== upstream) {
          offered.set(name, choose(other, own));
        }
      }
    }
  }
  return offered;
}

/** Nobody has chosen between the two yet. */
export function refuseDoubled(one: Offered, other: Offered): never {
  throw new TypeError(
    `"${other.method.name}" is offered by the upstreams "${one.upstream}" and "${other.upstream}"; ` +
      "give one of them a prefix with rename, or name the method in a route of its own",
    { cause: other.route.config },
  );
}

/** One document for methods of several upstreams, with the types that they use and no others. */
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

/** The shared types of several documents, in which different types may have the same name. */
class MergedSchemas {
  readonly #schemas = new Map<string, JsonSchema>();
  /** What a type is called here, by its upstream and its name there. */
  readonly #names = new Map<string, string>();
  /** The text of each type as it came, by its name here. */
  readonly #texts = new Map<string, string>();

  all(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  /** A copy in which references have the names of here. */
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
    const schema = from.schemas[there] ?? {};
    const name = this.#freeName(there, JSON.stringify(schema), from.upstream);
    this.#names.set(key, name);
    // Named before it is translated, since a type may refer to itself.
    if (!this.#schemas.has(name)) {
      this.#schemas.set(name, {});
      this.#schemas.set(name, this.translate(schema, from));
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
