import type { OpenrpcDocument } from "../openrpc/specification.ts";
import { type Offered, offeredMethods } from "./discovery.ts";
import { type Route, Routes, routeFault } from "./routes.ts";
import type { Upstream } from "./upstream.ts";

/** All that a config comes to, with what upstreams say of themselves. A new one replaces it whole. */
export class State {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: Routes;
  readonly offered: ReadonlyMap<string, Offered>;
  readonly #documents: ReadonlyMap<string, OpenrpcDocument>;

  /** Throws where two upstreams offer the same. */
  constructor(
    upstreams: ReadonlyMap<string, Upstream>,
    routes: readonly Route[],
    documents: ReadonlyMap<string, OpenrpcDocument>,
  ) {
    this.upstreams = upstreams;
    this.offered = offeredMethods(routes, documents);
    const known = new Map(Array.from(this.offered, ([name, { route }]) => [name, route]));
    this.routes = new Routes(routes, known, ({ config }) => !documents.has(config.to));
    this.#documents = documents;
  }

  /** The same with what an upstream says of itself now. */
  with(upstream: string, document: OpenrpcDocument): State {
    const documents = new Map(this.#documents).set(upstream, document);
    return new State(this.upstreams, this.routes.all, documents);
  }

  /** Two equal routes are fine only where the upstreams themselves say who has what. */
  refuseEqual(): void {
    const { all } = this.routes;
    for (const route of all) {
      const { method, to } = route.config;
      const isExact = route.closeness === Number.POSITIVE_INFINITY;
      const twin = all.find((other) => other !== route && other.config.method === method);
      if (twin === undefined || !(isExact || this.#keepsSilent(to))) continue;
      throw routeFault(
        route.config,
        twin.config.to === to || isExact
          ? " stands twice"
          : ` leads to "${twin.config.to}" and "${to}", ` +
              `and "${to}" does not say which methods it has`,
      );
    }
  }

  /** One that is not there may still say what it has once it is. */
  #keepsSilent(upstream: string): boolean {
    return !this.#documents.has(upstream) && this.upstreams.get(upstream)?.isUp === true;
  }
}
