import { upstreamFailure } from "../../gateway/failures.ts";
import type { Clock, Timer } from "../../protocol/clock.ts";
import { isRpcError, WireError } from "../../protocol/errors.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import { serverBusy } from "../../protocol/standard-errors.ts";
import type { Implementation } from "../capabilities.ts";
import type { NegotiationOptions } from "../client/handshake.ts";
import { longestRetryMs, retryMs } from "../client/retry-waits.ts";
import { type Subscription, subscribe } from "../client/subscription.ts";
import type { McpWire } from "../client/wire.ts";
import { errorOf, McpError } from "../errors.ts";
import { type Meta, MetaKey } from "../meta-keys.ts";
import type { Catalog } from "../server/catalog.ts";
import type { FeatureCall } from "../server/feature-call.ts";
import type { Session } from "../server/session.ts";
import type { HeldCalls } from "./held-calls.ts";
import type { Prefix } from "./names.ts";
import { DirectCall } from "./relayed-call.ts";
import { type Forward, UpstreamClient } from "./upstream-client.ts";
import { featuresOf, noFeatures } from "./upstream-features.ts";

export interface UpstreamSettings {
  readonly name: string;
  readonly wire: McpWire;
  readonly prefix: Prefix;
  /** Whether each session has a connection of its own. */
  readonly perSession: boolean;
  readonly maxConnections: number;
  readonly era: NegotiationOptions["era"];
}

/** What a resource is watched for. */
export interface Watcher {
  changed(): void;
  /** Whether any client still subscribes to it. */
  isWanted(): boolean;
}

/** What all servers behind a gateway share. */
export interface UpstreamSurroundings {
  readonly info: Implementation;
  readonly log: Log;
  readonly clock: Clock;
  readonly catalog: Catalog;
  readonly held: HeldCalls;
  /** Wraps each request to a server. */
  readonly use: readonly Middleware[];
}

/** Most resources that are watched at each server. Each holds a call or a connection, and a server has 500 of those for us. */
const mostWatched = 200;

/** How long a server may take to come back before its tools disappear. */
const graceMs = 2_000;

/** One server behind a gateway. It is started when a client first asks, and again when it is lost. */
export class Upstream {
  readonly name: string;
  readonly prefix: Prefix;
  readonly #settings: UpstreamSettings;
  readonly #around: UpstreamSurroundings;
  readonly #sessions = new Map<Session, UpstreamClient>();
  /** The resources that are watched, by URI. */
  readonly #watched = new Map<string, { isWanted(): boolean; stop(): void }>();
  #shared: UpstreamClient | undefined;
  #started: Promise<void> | undefined;
  #loading: Promise<void> | undefined;
  #isStale = false;
  #changes: Promise<Subscription> | undefined;
  #retry: Timer | undefined;
  #delayMs = retryMs;
  #isDown = false;
  #closed = false;

  constructor(settings: UpstreamSettings, around: UpstreamSurroundings) {
    this.name = settings.name;
    this.prefix = settings.prefix;
    this.#settings = settings;
    this.#around = around;
  }

  /** Resolves when what the server has is in the catalog, or it is known not to be available. */
  start(): Promise<void> {
    this.#started ??= this.refresh();
    return this.#started;
  }

  /** Reads the lists of the server again. */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#loading ??= this.#load().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** Runs one request of a client; throws the error for that client. */
  async forward(call: FeatureCall, forward: Forward): Promise<object> {
    try {
      const { rounds } = call;
      const client = this.#clientOf(call.caller.session);
      const result = await (rounds === undefined
        ? client.run(new DirectCall(call), forward)
        : this.#around.held.run(call, rounds, (relayed) => client.run(relayed, forward)));
      return withoutEnvelope(result);
    } catch (error) {
      // The server may be lost for good; then its entries must leave the catalog.
      if (error instanceof WireError && call.ended === undefined) void this.refresh();
      throw failureOf(error);
    }
  }

  /** Watches a resource, by its own URI, as long as clients want that. */
  async watch(uri: string, watcher: Watcher): Promise<void> {
    if (this.#watched.has(uri)) return;
    // A watch without subscribers ends with its next change, or when its place is needed.
    if (this.#watched.size >= mostWatched) {
      for (const watched of [...this.#watched.values()]) if (!watched.isWanted()) watched.stop();
    }
    if (this.#watched.size >= mostWatched) throw errorOf(serverBusy);
    const { protocol } = this.#lister();
    const stopped = new AbortController();
    const stop = (): void => {
      stopped.abort();
      if (this.#watched.get(uri) === watched) this.#watched.delete(uri);
    };
    // Its first client subscribes while this one begins.
    let isBeginning = true;
    const watched = { isWanted: () => isBeginning || watcher.isWanted(), stop };
    this.#watched.set(uri, watched);
    try {
      const watching = await subscribe(protocol, { uris: [uri] }, ({ kind }) => {
        if (kind !== "resource" && kind !== "gap") return;
        watcher.changed();
        if (!watcher.isWanted()) stop();
      });
      isBeginning = false;
      void watching.closed.then(stop);
      const close = (): void => void watching.close();
      if (stopped.signal.aborted) close();
      else stopped.signal.addEventListener("abort", close);
    } catch (error) {
      stop();
      throw error;
    }
  }

  rootsChanged(session: Session): void {
    const { protocol } = this.#sessions.get(session) ?? {};
    if (protocol?.server?.era !== "legacy") return;
    protocol.notify("notifications/roots/list_changed").catch(() => {});
  }

  sessionEnded(session: Session): void {
    const client = this.#sessions.get(session);
    this.#sessions.delete(session);
    void client?.close();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#retry?.cancel();
    const clients = [...this.#sessions.values(), ...(this.#shared ? [this.#shared] : [])];
    this.#sessions.clear();
    await Promise.all(clients.map((client) => client.close()));
  }

  async #load(): Promise<void> {
    this.#retry?.cancel();
    while (this.#isStale && !this.#closed) {
      this.#isStale = false;
      await this.#loadOnce();
    }
  }

  async #loadOnce(): Promise<void> {
    const { catalog, clock, log } = this.#around;
    const server = this.name;
    const disappear = (): void => catalog.setGroup(this.name, noFeatures);
    const late = clock.after(graceMs, disappear);
    try {
      const client = this.#lister();
      catalog.setGroup(this.name, await featuresOf(this, client, log));
      this.#delayMs = retryMs;
      if (this.#isDown) log.warn({ server }, "an MCP server behind the gateway is back");
      this.#isDown = false;
      this.#listen(client);
    } catch (error) {
      if (this.#closed) return;
      // Once, not at each retry.
      const reason = error instanceof Error ? error.message : String(error);
      if (!this.#isDown)
        log.warn({ server, reason }, "an MCP server behind the gateway is down; retrying");
      this.#isDown = true;
      disappear();
      this.#retry = clock.after(this.#delayMs, () => void this.refresh());
      this.#delayMs = Math.min(2 * this.#delayMs, longestRetryMs);
    } finally {
      late.cancel();
    }
  }

  /** Follows the changes of its lists. */
  #listen({ protocol }: UpstreamClient): void {
    this.#changes ??= subscribe(protocol, { tools: true, prompts: true, resources: true }, () => {
      void this.refresh();
    });
    const over = (): void => {
      this.#changes = undefined;
    };
    // A server without such a subscription is asked again only after it was lost.
    this.#changes.then(
      ({ closed }) => closed.then(over),
      () => {},
    );
  }

  /** The client that lists, and that all sessions share unless each has its own. */
  #lister(): UpstreamClient {
    if (this.#shared === undefined) {
      this.#shared = this.#client(undefined);
      this.#shared.protocol.onLost(() => void this.refresh());
    }
    return this.#shared;
  }

  #clientOf(session: Session | undefined): UpstreamClient {
    const { perSession, maxConnections } = this.#settings;
    if (!perSession || session === undefined) return this.#lister();
    const known = this.#sessions.get(session);
    if (known !== undefined) return known;
    if (this.#sessions.size >= maxConnections) throw errorOf(serverBusy);
    const client = this.#client(session);
    this.#sessions.set(session, client);
    return client;
  }

  #client(session: Session | undefined): UpstreamClient {
    const { info, log, clock, use } = this.#around;
    const { wire, era } = this.#settings;
    return new UpstreamClient(wire, { info, log, clock, session, era, use });
  }
}

/** The result without what the modern era adds to each; the gateway adds its own, for clients of that era. */
function withoutEnvelope(result: object): object {
  const { resultType, _meta, ...rest } = result as { resultType?: unknown; _meta?: Meta };
  if (_meta === undefined) return rest;
  const { [MetaKey.ServerInfo]: _, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? rest : { ...rest, _meta: meta };
}

/** The error for the client: that of the server as it is, or that the server did not answer. */
function failureOf(error: unknown): McpError {
  if (error instanceof McpError) return error;
  const { code, message, data } = isRpcError(error) ? error : upstreamFailure(error);
  return new McpError(code, message, data, { cause: error });
}
