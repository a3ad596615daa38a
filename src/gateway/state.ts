import { KeptDocuments } from "../openrpc/kept-documents.ts";
import type { OpenrpcDocument } from "../openrpc/specification.ts";
import { type Offered, offeredMethods, refuseDoubled } from "./discovery.ts";
import { type Route, Routes, routeFault } from "./routes.ts";
import type { Upstream } from "./upstream.ts";

/** All that a config comes to, with what upstreams say of themselves. A new one replaces it whole. */
export class State {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: Routes;
  readonly offered: ReadonlyMap<string, Offered>;
  /** What callers were told of all this. */
  readonly described = new KeptDocuments();
  readonly #documents: ReadonlyMap<string, OpenrpcDocument>;

  /** Throws where two upstreams offer the same, unless it is said which of them has it. */
  constructor(
    upstreams: ReadonlyMap<string, Upstream>,
    routes: readonly Route[],
    documents: ReadonlyMap<string, OpenrpcDocument>,
    choose: (one: Offered, other: Offered) => Offered = refuseDoubled,
  ) {
    this.upstreams = upstreams;
    this.offered = offeredMethods(routes, documents, choose);
    const known = new Map(Array.from(this.offered, ([name, { route }]) => [name, route]));
    this.routes = new Routes(routes, known, ({ config }) => !documents.has(config.to));
    this.#documents = documents;
  }

  /** What an upstream of this state has said of itself, if it has. */
  documentOf(upstream: Upstream): OpenrpcDocument | undefined {
    const isHere = this.upstreams.get(upstream.name) === upstream;
    return isHere ? this.#documents.get(upstream.name) : undefined;
  }

  /** Whether there is such a method, as far as is known: under a prefix, an upstream that describes itself has no others. */
  has(method: string): boolean {
    const route = this.routes.find(method);
    if (route === undefined || this.offered.has(method)) return route !== undefined;
    return route.config.method === method || !this.#documents.has(route.config.to);
  }

  /**
   * The same with what an upstream says of itself now. Where another has a method of the name, that one keeps it, and
   * `without` hears of it.
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

  /** Two equal routes are fine only where the upstreams themselves say who has what. */
  refuseEqual(): void {
    const { all } = this.routes;
    for (const route of all) {
      const { method, to } = route.config;
      const twins = all.filter((other) => other !== route && other.config.method === method);
      const [twin] = twins;
      if (twin === undefined) continue;
      const isExact = route.closeness === Number.POSITIVE_INFINITY;
      if (isExact || twins.some(({ config }) => config.to === to)) {
        throw routeFault(route.config, " stands twice");
      }
      if (this.#keepsSilent(to)) {
        const sentence = ` leads to "${twin.config.to}" and "${to}", and "${to}" does not say which methods it has`;
        throw routeFault(route.config, sentence);
      }
    }
  }

  /** One that is not there may still say what it has once it is. */
  #keepsSilent(upstream: string): boolean {
    return !this.#documents.has(upstream) && this.upstreams.get(upstream)?.isUp === true;
  }
}
