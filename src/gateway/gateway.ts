import type { OpenrpcDocument, OpenrpcInfo } from "../openrpc/specification.ts";
import { CallContext, type Context } from "../protocol/context.ts";
import { methodNotFound, serverBusy, WireError } from "../protocol/errors.ts";
import { compose, type Middleware, visibility } from "../protocol/handle.ts";
import { Host, type HostOptions } from "../protocol/host.ts";
import { defaultLimits, limitOf } from "../protocol/limits.ts";
import {
  failure,
  type MaybePromise,
  type Reply,
  type Request,
  success,
} from "../protocol/message.ts";
import type { TargetState } from "../protocol/target-state.ts";
import { mergedDocument, type Offered } from "./discovery.ts";
import { room } from "./outgoing-size.ts";
import { Route, type RouteConfig, routeFault } from "./routes.ts";
import { sendOn } from "./sending.ts";
import { State } from "./state.ts";
import { Upstream, type UpstreamConfig } from "./upstream.ts";

/** What is behind a gateway, and which calls go where. */
export interface GatewayConfig<Name extends string = string> {
  /** The servers behind the gateway, by the names that routes use. */
  readonly upstreams: Readonly<Record<Name, UpstreamConfig>>;
  /** The closest one decides: a full name before a prefix, a long prefix before a short one. */
  readonly routes: readonly RouteConfig<NoInfer<Name>>[];
  /** What the merged document says of the whole; it counts more than the option `discover`. */
  readonly info?: Partial<OpenrpcInfo>;
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

/** Answers calls by sending them on to whoever is behind it. */
export class Gateway extends Host {
  readonly #options: GatewayOptions;
  readonly #describeTimeoutMs: number;
  readonly #visible: (method: string, context: Context) => boolean;
  readonly hides: boolean;
  #state = new State(new Map(), [], new Map());
  #info: Partial<OpenrpcInfo> = {};
  /** Settled when no config is being taken. */
  #configuring: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: GatewayOptions = {}) {
    const { use = [] } = options;
    const maxMessageBytes = defaultLimits.maxMessageBytes - room;
    super(
      compose(use, (request, context) => this.#answer(request, context)),
      { ...options, limits: { maxMessageBytes, ...options.limits } },
      use,
    );
    this.hides = use.length > 0;
    this.#options = options;
    this.#describeTimeoutMs = limitOf("describeTimeoutMs", options.describeTimeoutMs, 5_000);
    this.#visible = visibility(use);
    this.onClose(async () => {
      this.#closed = true;
      await this.#configuring;
      await this.#release(this.#state.upstreams.values());
    });
  }

  hasMethod(method: string): boolean {
    return method === "rpc.discover" || this.#state.has(method);
  }

  /** Whether a method of this name streams, as far as the upstreams say. */
  isStream(method: string): boolean {
    return this.#state.offered.get(method)?.method["x-stream"] !== undefined;
  }

  /**
   * Takes a config in place of the one before. Calls in progress finish where they are; upstreams that
   * both configs share keep their connections. A config that cannot be used changes nothing. One that
   * comes while another is being taken waits, so that the last one holds.
   */
  configure(config: GatewayConfig): Promise<void> {
    const configured = this.#configuring.then(() => this.#configure(config));
    this.#configuring = configured.catch(() => {});
    return configured;
  }

  async #configure(config: GatewayConfig): Promise<void> {
    // What it would open, nobody would close.
    if (this.#closed) throw new WireError("CLOSED", "the gateway is closed");
    const before = this.#state;
    /** Those that came while others were still asked what they offer. */
    const late = new Set<Upstream>();
    const upstreams = new Map<string, Upstream>();
    const isNew = (upstream: Upstream) => before.upstreams.get(upstream.name) !== upstream;
    try {
      for (const [name, upstream] of Object.entries(config.upstreams)) {
        const kept = before.upstreams.get(name);
        upstreams.set(
          name,
          kept?.config === upstream
            ? kept
            : new Upstream(name, upstream, {
                running: this.running,
                log: this.log,
                returned: (upstream) => {
                  if (this.#has(upstream)) void this.#describeAgain(upstream);
                  else late.add(upstream);
                },
              }),
        );
      }
      const routes = config.routes.map((route) => new Route(route));
      for (const { config } of routes) {
        if (!upstreams.has(config.to)) {
          throw routeFault(config, ` leads to "${config.to}", which is no upstream`);
        }
      }
      const [documents] = await Promise.all([
        this.#describe([...upstreams.values()]),
        ...Array.from(upstreams.values(), ({ looked }) => looked),
      ]);
      for (const upstream of upstreams.values()) {
        // One that both configs share may be slow or away now, and has said what it offers before.
        const known = documents.get(upstream.name) ?? this.#state.documentOf(upstream);
        if (known !== undefined) documents.set(upstream.name, known);
      }
      const state = new State(upstreams, routes, documents);
      state.refuseEqual();
      this.#state = state;
      this.#info = config.info ?? {};
      for (const upstream of late) void this.#describeAgain(upstream);
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
    if (upstream.inFlight(route) >= (route.config.maxInFlight ?? Number.POSITIVE_INFINITY)) {
      return failure(serverBusy);
    }
    const { clock } = this.running;
    const described = this.#state.offered.get(method)?.method;
    // A stream lasts as long as somebody reads it, and its first item may be long in coming.
    const limitMs = this.isStream(method) ? Number.POSITIVE_INFINITY : route.config.timeoutMs;
    if (limitMs !== undefined && context instanceof CallContext) context.limit(limitMs);
    const maxBytes = this.limits.maxMessageBytes + room;
    return sendOn(request, context, { route, upstream, described, clock, log: this.log, maxBytes });
  }

  /** What upstreams say of themselves; those that say nothing are called all the same. */
  async #describe(upstreams: readonly Upstream[]): Promise<Map<string, OpenrpcDocument>> {
    const documents = new Map<string, OpenrpcDocument>();
    const ask = async (upstream: Upstream): Promise<void> => {
      const document = await this.#documentOf(upstream);
      if (document !== undefined) documents.set(upstream.name, document);
    };
    await Promise.all(upstreams.map(ask));
    return documents;
  }

  /** One that comes may say what it offers for the first time, and one that comes back may be newer. */
  async #describeAgain(upstream: Upstream): Promise<void> {
    const document = await this.#documentOf(upstream);
    if (document === undefined || !this.#has(upstream)) return;
    const taken: string[] = [];
    this.#state = this.#state.with(upstream.name, document, (method, keeper) => {
      taken.push(`"${method}" (${keeper})`);
    });
    if (taken.length === 0) return;
    const reason = `others have these already: ${taken.join(", ")}`;
    this.log.warn(
      { upstream: upstream.name, reason },
      "an upstream stays without methods that it offers",
    );
  }

  #has(upstream: Upstream): boolean {
    return this.#state.upstreams.get(upstream.name) === upstream;
  }

  async #documentOf(upstream: Upstream): Promise<OpenrpcDocument | undefined> {
    if (this.#options.discover === false) return undefined;
    const document = await upstream.document(this.#describeTimeoutMs);
    if (document === undefined) {
      this.log.info({ upstream: upstream.name }, "an upstream does not describe itself");
    }
    return document;
  }

  /** The methods that this caller may know of. */
  #document(context: Context): OpenrpcDocument {
    const { discover = {} } = this.#options;
    const { offered, described } = this.#state;
    const seen = [...offered.keys()].filter((name) => this.#visible(name, context));
    return described.of(seen, () =>
      mergedDocument(
        seen.map((name) => offered.get(name) as Offered),
        { title: "callwire gateway", version: "0.0.0", ...(discover || {}), ...this.#info },
      ),
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

/**
 * Makes a gateway; it is ready when its upstreams were asked what they offer.
 * @example
 * ```ts
 * import { createGateway } from "callwire/gateway";
 * import { httpLink } from "callwire/http";
 * import { serveHttp } from "callwire/http/node";
 *
 * const gateway = await createGateway({
 *   upstreams: { users: { targets: { one: () => httpLink("http://10.0.0.3:8000/rpc") } } },
 *   routes: [{ method: "users/*", to: "users", timeoutMs: 2_000 }],
 * });
 * await serveHttp(gateway, { port: 8000 });
 * ```
 */
export async function createGateway<Name extends string>(
  config: GatewayConfig<Name>,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const gateway = new Gateway(options);
  await gateway.configure(config);
  return gateway;
}
