import type { OpenrpcDocument, OpenrpcInfo } from "../openrpc/specification.ts";
import { CallContext, type Context } from "../protocol/context.ts";
import { methodNotFound, serverBusy, WireError } from "../protocol/errors.ts";
import { compose, type Middleware, visibility } from "../protocol/handle.ts";
import { Host, type HostOptions } from "../protocol/host.ts";
import {
  failure,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../protocol/message.ts";
import { type Described, mergedDocument, type Offered, offeredMethods } from "./discovery.ts";
import { noTarget, upstreamFailure } from "./failures.ts";
import { forwarded } from "./forwarded.ts";
import { type RelaySettings, timeLeft } from "./relay.ts";
import { Route, type RouteConfig, Routes } from "./routes.ts";
import type { Target, TargetState } from "./target.ts";
import { didNotRun, Upstream, type UpstreamConfig } from "./upstream.ts";

/** What is behind a gateway, and which calls go where. */
export interface GatewayConfig {
  readonly upstreams: Readonly<Record<string, UpstreamConfig>>;
  /** The closest one decides: a full name before a prefix, a long prefix before a short one. */
  readonly routes: readonly RouteConfig[];
}

export interface GatewayOptions extends HostOptions {
  /** Wraps every call; the first sees it first. */
  readonly use?: readonly Middleware[];
  /** What the merged document of `rpc.discover` says of the whole; false leaves it out. */
  readonly discover?: false | Partial<OpenrpcInfo>;
  /** How long an upstream may take to describe itself. @default 5000 */
  readonly describeTimeoutMs?: number;
}

/** Whether calls should come, as `/readyz` tells it. */
export interface Readiness {
  /** Whether every route leads to an upstream with a target that is there. */
  readonly ok: boolean;
  /** The upstreams that routes lead to. */
  readonly upstreams: Readonly<Record<string, "ok" | "no target answers">>;
}

/** All that a config comes to; a new one replaces it whole. */
interface State {
  readonly upstreams: ReadonlyMap<string, Upstream>;
  readonly routes: Routes;
  readonly offered: ReadonlyMap<string, Offered>;
}

const nothing: State = { upstreams: new Map(), routes: new Routes([]), offered: new Map() };

/** Answers calls by sending them on to whoever is behind it. */
export class Gateway extends Host {
  readonly #options: GatewayOptions;
  readonly #visible: (method: string, context: Context) => boolean;
  readonly hides: boolean;
  #state: State = nothing;

  constructor(options: GatewayOptions = {}) {
    const { use = [] } = options;
    super(
      compose(use, (request, context) => this.#answer(request, context)),
      options,
      use,
    );
    this.hides = use.length > 0;
    this.#options = options;
    this.#visible = visibility(use);
    this.onClose(() => this.#release(this.#state.upstreams.values()));
  }

  hasMethod(method: string): boolean {
    return method === "rpc.discover" || this.#state.routes.find(method) !== undefined;
  }

  /** Whether a method of this name streams, as far as the upstreams say. */
  isStream(method: string): boolean {
    return this.#state.offered.get(method)?.method["x-stream"] !== undefined;
  }

  /**
   * Takes a config in place of the one before. Calls in progress finish where they are; upstreams that
   * both configs share keep their connections. A config that cannot be used changes nothing.
   */
  async configure(config: GatewayConfig): Promise<void> {
    const before = this.#state;
    const upstreams = new Map<string, Upstream>();
    for (const [name, upstream] of Object.entries(config.upstreams)) {
      const kept = before.upstreams.get(name);
      upstreams.set(
        name,
        kept?.config === upstream
          ? kept
          : new Upstream(name, upstream, this.running.clock, this.log),
      );
    }
    const isNew = (upstream: Upstream) => before.upstreams.get(upstream.name) !== upstream;
    try {
      const routes = config.routes.map((route) => new Route(route));
      for (const { config } of routes) {
        if (!upstreams.has(config.to)) {
          throw new TypeError(
            `the route "${config.method}" leads to "${config.to}", which is no upstream`,
          );
        }
      }
      const [described] = await Promise.all([
        this.#options.discover === false ? [] : this.#describe([...upstreams.values()]),
        ...Array.from(upstreams.values(), ({ looked }) => looked),
      ]);
      const offered = offeredMethods(routes, described);
      refuseEqual(routes, described);
      const known = new Map(Array.from(offered, ([name, { route }]) => [name, route]));
      this.#state = { upstreams, routes: new Routes(routes, known), offered };
    } catch (error) {
      await this.#release([...upstreams.values()].filter(isNew));
      throw error;
    }
    const gone = [...before.upstreams.values()].filter(
      (upstream) => upstreams.get(upstream.name) !== upstream,
    );
    void this.#retire(gone);
  }

  /** Whether calls should come: `serveHttp(gateway, { ready: () => gateway.readiness() })`. */
  readiness(): Readiness {
    const { routes, upstreams } = this.#state;
    const names = new Set(routes.all.map(({ config }) => config.to));
    const states = Array.from(names, (name) => {
      const isThere = upstreams.get(name)?.isUp === true;
      return [name, isThere ? "ok" : "no target answers"] as const;
    });
    return {
      ok: states.every(([, state]) => state === "ok"),
      upstreams: Object.fromEntries(states),
    };
  }

  /** How each target does: `metrics.targets(() => gateway.targets())`. */
  targets(): TargetState[] {
    return Array.from(this.#state.upstreams.values(), ({ targets }) => targets)
      .flat()
      .map(({ state }) => state);
  }

  #answer(request: Request, context: Context): MaybePromise<Reply | undefined> {
    const { method } = request;
    if (method === "rpc.discover" && this.#options.discover !== false) {
      return success(this.#document(context));
    }
    const route = this.#state.routes.find(method);
    const upstream = route && this.#state.upstreams.get(route.config.to);
    if (route === undefined || upstream === undefined) return failure(methodNotFound);
    if (route.inFlight >= (route.config.maxInFlight ?? Number.POSITIVE_INFINITY)) {
      return failure(serverBusy);
    }
    const { timeoutMs } = route.config;
    if (timeoutMs !== undefined && context instanceof CallContext) context.limit(timeoutMs);
    return this.#send(route, upstream, request, context);
  }

  async #send(
    route: Route,
    upstream: Upstream,
    request: Request,
    context: Context,
  ): Promise<Reply | undefined> {
    const settings = this.#settings(route, upstream, request, context);
    const tried = new Set<Target>();
    let failed: Reply = failure(noTarget);
    const { attempts = 3 } = route.config;
    route.inFlight++;
    try {
      while (tried.size < attempts) {
        const target = upstream.pick(request, context, tried);
        if (target === undefined) break;
        tried.add(target);
        try {
          const reply = await target.send(request, context, settings);
          if (reply === undefined || !didNotRun(reply)) return reply;
          failed = reply;
        } catch (error) {
          if (!(error instanceof WireError)) throw error;
          failed = failure(upstreamFailure(error));
          const { method } = request;
          const where = { upstream: upstream.name, target: target.name };
          this.log.info({ ...where, method, err: error }, "a call failed");
          const mayRepeat = didNotRun(error) || (settings.idempotent && isPassing(error));
          if (!mayRepeat) break;
        }
        if ((context as Partial<CallContext>).ended !== undefined) break;
      }
      return failed;
    } finally {
      route.inFlight--;
    }
  }

  #settings(route: Route, upstream: Upstream, request: Request, context: Context): RelaySettings {
    const { config } = route;
    const described = this.#state.offered.get(request.method);
    const { timeoutMs = Number.POSITIVE_INFINITY } = config;
    const left = timeLeft(request, context, this.running.clock) ?? Number.POSITIVE_INFINITY;
    return {
      method: route.there(request.method),
      idempotent: config.idempotent ?? described?.method["x-idempotent"] === true,
      version: upstream.config.version,
      timeoutMs: Number.isFinite(Math.min(left, timeoutMs)) ? Math.min(left, timeoutMs) : undefined,
      headers: forwarded(context, upstream.config.forwardHeaders),
    };
  }

  /** What upstreams say of themselves; those that say nothing are called all the same. */
  async #describe(upstreams: readonly Upstream[]): Promise<Described[]> {
    const { describeTimeoutMs = 5_000 } = this.#options;
    const described = await Promise.all(
      upstreams.map(async (upstream): Promise<Described[]> => {
        const document = await upstream.document(describeTimeoutMs);
        if (document === undefined) {
          this.log.info({ upstream: upstream.name }, "an upstream does not describe itself");
        }
        return document === undefined ? [] : [{ upstream: upstream.name, document }];
      }),
    );
    return described.flat();
  }

  /** The methods that this caller may know of. */
  #document(context: Context): OpenrpcDocument {
    const { discover = {} } = this.#options;
    const seen = [...this.#state.offered].filter(([name]) => this.#visible(name, context));
    return mergedDocument(
      seen.map(([, offered]) => offered),
      { title: "callwire gateway", version: "0.0.0", ...(discover === false ? {} : discover) },
    );
  }

  /** Closes upstreams once what runs over them has finished. */
  async #retire(upstreams: readonly Upstream[]): Promise<void> {
    await Promise.all(upstreams.map((upstream) => upstream.idle()));
    await this.#release(upstreams);
  }

  async #release(upstreams: Iterable<Upstream>): Promise<void> {
    await Promise.all(
      Array.from(upstreams, (upstream) =>
        upstream.close().catch((error: unknown) => {
          this.log.warn({ upstream: upstream.name, err: error }, "an upstream did not close");
        }),
      ),
    );
  }
}

/** Makes a gateway; it is ready when its upstreams were asked what they offer. */
export async function createGateway(
  config: GatewayConfig,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const gateway = new Gateway(options);
  await gateway.configure(config);
  return gateway;
}

/** Two equal routes are fine only where the upstreams themselves say who has what. */
function refuseEqual(routes: readonly Route[], described: readonly Described[]): void {
  const silent = (route: Route) => described.every(({ upstream }) => upstream !== route.config.to);
  for (const route of routes) {
    const twin = routes.find(
      (other) =>
        other !== route &&
        other.config.method === route.config.method &&
        (route.closeness === Number.POSITIVE_INFINITY || silent(route)),
    );
    if (twin === undefined) continue;
    throw new TypeError(
      twin.config.to === route.config.to || route.closeness === Number.POSITIVE_INFINITY
        ? `the route "${route.config.method}" stands twice`
        : `the route "${route.config.method}" leads to "${twin.config.to}" and "${route.config.to}", ` +
            `and "${route.config.to}" does not say which methods it has`,
    );
  }
}

/** Whether another target may do better. */
function isPassing({ code, status }: WireError): boolean {
  return (
    code === "CONNECTION_LOST" ||
    code === "CLOSED" ||
    (code === "HTTP_STATUS" && status !== undefined && status >= 502)
  );
}
