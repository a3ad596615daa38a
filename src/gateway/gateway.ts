import type { OpenrpcDocument, OpenrpcInfo } from "../openrpc/specification.ts";
import type { Context } from "../protocol/context.ts";
import { WireError } from "../protocol/errors.ts";
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
import { methodNotFound, serverBusy } from "../protocol/standard-errors.ts";
import type { TargetState } from "../protocol/target-state.ts";
import { mergedDocument, type Offered } from "./discovery.ts";
import { forwardCall } from "./forwarding.ts";
import { room } from "./outgoing-size.ts";
import { Route, type RouteConfig, routeFault } from "./routes.ts";
import { State } from "./state.ts";
import { Upstream, type UpstreamConfig } from "./upstream.ts";
import { type SendUpstream, sendThrough } from "./upstream-call.ts";

/** The servers behind a gateway, and the routes to them. */
export interface GatewayConfig<Name extends string = string> {
  /** The servers behind the gateway, by the names that routes use. */
  readonly upstreams: Readonly<Record<Name, UpstreamConfig>>;
  /** The most specific route wins: a full name before a prefix, a long prefix before a short one. */
  readonly routes: readonly RouteConfig<NoInfer<Name>>[];
  /** The info of the merged document; overrides the option `discover`. */
  readonly info?: Partial<OpenrpcInfo>;
}

export interface GatewayOptions extends HostOptions {
  /** Middleware around every call; the first is the outermost. @default none */
  readonly use?: readonly Middleware[];
  /** Middleware around each attempt to send a call on, such as `tracing` for client spans. @default none */
  readonly useUpstream?: readonly Middleware[];
  /** The info of the merged document of `rpc.discover`; false disables that method. */
  readonly discover?: false | Partial<OpenrpcInfo>;
  /** How long an upstream may take to describe itself. @default 5000 */
  readonly describeTimeoutMs?: number;
}

/** Whether the gateway can take calls, as `/readyz` reports it. */
export interface Readiness {
  /** Whether every required upstream of a route has an available target. */
  readonly ok: boolean;
  /** The upstreams of all routes. */
  readonly upstreams: Readonly<Record<string, "ok" | "no target answers">>;
}

/** Answers calls by forwarding them to the servers behind it. */
export class Gateway extends Host {
  readonly #options: GatewayOptions;
  readonly #describeTimeoutMs: number;
  readonly #visible: (method: string, context: Context) => boolean;
  readonly hides: boolean;
  readonly #send: SendUpstream;
  #state = new State(new Map(), [], new Map());
  #info: Partial<OpenrpcInfo> = {};
  /** Settles when no config is being applied. */
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
    this.#send = sendThrough(options.useUpstream ?? []);
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

  /** Whether the upstream describes this method as a stream. */
  isStream(method: string): boolean {
    return this.#state.offered.get(method)?.method["x-stream"] !== undefined;
  }

  /**
   * Replaces the config. Calls in progress finish where they are; upstreams that both configs share
   * keep their connections. An invalid config changes nothing. Configs are applied one after the other,
   * so the last one wins.
   */
  configure(config: GatewayConfig): Promise<void> {
    const configured = this.#configuring.then(() => this.#configure(config));
    this.#configuring = configured.catch(() => {});
    return configured;
  }

  async #configure(config: GatewayConfig): Promise<void> {
    // Nothing would close the connections that it opens.
    if (this.#closed) throw new WireError("CLOSED", "the gateway is closed");
    const before = this.#state;
    /** Upstreams that became available while others were still being described. */
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
          throw routeFault(config, ` leads to "${config.to}", which is not an upstream`);
        }
      }
      const [documents] = await Promise.all([
        this.#describe([...upstreams.values()]),
        ...Array.from(upstreams.values(), ({ looked }) => looked),
      ]);
      for (const upstream of upstreams.values()) {
        // A shared upstream may be slow or down now; its last description is still valid.
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

  /** Whether the gateway can take calls: `serveHttp(gateway, { ready: () => gateway.readiness() })`. */
  readiness(): Readiness {
    const { routes, upstreams } = this.#state;
    const names = new Set(routes.all.map(({ config }) => config.to));
    const routed = [...upstreams.values()].filter(({ name }) => names.has(name));
    return {
      // Without `required`, a dead upstream must not take the routes to all others out of service.
      ok: routed.every(({ config, isUp }) => isUp || config.required !== true),
      upstreams: Object.fromEntries(
        routed.map(({ name, isUp }) => [name, isUp ? "ok" : "no target answers"]),
      ),
    };
  }

  /** The state of each target: `metrics.targets(() => gateway.targets())`. */
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
    // A stream lasts as long as it is read, and its first item may take long.
    const limitMs = this.isStream(method) ? Number.POSITIVE_INFINITY : route.config.timeoutMs;
    if (limitMs !== undefined) context.limit?.(limitMs);
    const maxBytes = this.limits.maxMessageBytes + room;
    return forwardCall(request, context, {
      route,
      upstream,
      described,
      clock,
      log: this.log,
      maxBytes,
      send: this.#send,
    });
  }

  /** The descriptions of the upstreams; upstreams without one are called too. */
  async #describe(upstreams: readonly Upstream[]): Promise<Map<string, OpenrpcDocument>> {
    const documents = new Map<string, OpenrpcDocument>();
    const ask = async (upstream: Upstream): Promise<void> => {
      const document = await this.#documentOf(upstream);
      if (document !== undefined) documents.set(upstream.name, document);
    };
    await Promise.all(upstreams.map(ask));
    return documents;
  }

  /** A target that becomes available may describe itself for the first time, or run a newer version. */
  async #describeAgain(upstream: Upstream): Promise<void> {
    const document = await this.#documentOf(upstream);
    if (document === undefined || !this.#has(upstream)) return;
    const taken: string[] = [];
    this.#state = this.#state.with(upstream.name, document, (method, keeper) => {
      taken.push(`"${method}" (${keeper})`);
    });
    if (taken.length === 0) return;
    const reason = `other upstreams have them already: ${taken.join(", ")}`;
    this.log.warn(
      { upstream: upstream.name, reason },
      "some methods of this upstream are not routed",
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

  /** The methods that this caller may see. */
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

  /** Closes upstreams after their calls have finished. */
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
 * Creates a gateway; resolves after each upstream was asked for its description.
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
