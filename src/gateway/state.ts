import { DocumentCache } from "../openrpc/document-cache.ts";
import type { OpenrpcDocument } from "../openrpc/specification.ts";
import { type Offered, offeredMethods, rejectDuplicate } from "./discovery.ts";
import { type Route, Routes, routeFault } from "./routes.ts";
import type { Upstream } from "./upstream.ts";

/** A config with the descriptions of its upstreams; replaced as a whole. */
export class State {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: Routes;
  readonly offered: ReadonlyMap<string, Offered>;
  /** Cached documents for `rpc.discover`. */
  readonly described = new DocumentCache();
  readonly #documents: ReadonlyMap<string, OpenrpcDocument>;

  /** Throws if two upstreams offer the same method, unless `choose` picks one. */
  constructor(
    upstreams: ReadonlyMap<string, Upstream>,
    routes: readonly Route[],
    documents: ReadonlyMap<string, OpenrpcDocument>,
    choose: (one: Offered, other: Offered) => Offered = rejectDuplicate,
  ) {
    this.upstreams = upstreams;
    this.offered = offeredMethods(routes, documents, choose);
    const known = new Map(Array.from(this.offered, ([name, { route }]) => [name, route]));
    this.routes = new Routes(routes, known, ({ config }) => !documents.has(config.to));
    this.#documents = documents;
  }

  /** The description of an upstream of this state, if it has one. */
  documentOf(upstream: Upstream): OpenrpcDocument | undefined {
    const isHere = this.upstreams.get(upstream.name) === upstream;
    return isHere ? this.#documents.get(upstream.name) : undefined;
  }

  /** Whether the method may exist; an upstream with a description has no other methods under a prefix. */
  has(method: string): boolean {
    const route = this.routes.find(method);
    if (route === undefined || this.offered.has(method)) return route !== undefined;
    return route.config.method === method || !this.#documents.has(route.config.to);
  }

  /**
   * The same state with a new description of an upstream. A method that another upstream has stays there, and `without`
   * is called for it.
   */
  with(
    upstream: string,
    document: OpenrpcDocument,
    without: (method: string, keeper: string) => void,
  ): State {
    const documents = new Map(this.#documents).set(upstream, document);
    return new State(this.upstreams, this.routes.all, documents, (one, other) => {
      const { name } = one.method;
      const before = this.offered.get(name)?.upstream;
      const [kept, late] = before === other.upstream ? [other, one] : [one, other];
      if (late.upstream === upstream) without(name, kept.upstream);
      return kept;
    });
  }

  /** Equal routes are allowed only if the descriptions of the upstreams tell which one has a method. */
  refuseEqual(): void {
    const { all } = this.routes;
    for (const route of all) {
      const { method, to } = route.config;
      const twins = all.filter((other) => other !== route && other.config.method === method);
      const [twin] = twins;
      if (twin === undefined) continue;
      const isExact = route.closeness === Number.POSITIVE_INFINITY;
      if (isExact || twins.some(({ config }) => config.to === to)) {
        throw routeFault(route.config, " is defined twice");
      }
      if (this.#keepsSilent(to)) {
        const sentence = ` leads to "${twin.config.to}" and "${to}", and "${to}" does not describe its methods`;
        throw routeFault(route.config, sentence);
      }
    }
  }

  /** An upstream that is down may describe itself once it is available. */
  #keepsSilent(upstream: string): boolean {
    return !this.#documents.has(upstream) && this.upstreams.get(upstream)?.isUp === true;
  }
}
