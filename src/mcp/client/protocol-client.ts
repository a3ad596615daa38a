import { Client } from "../../client/client.ts";
import type { OutgoingCall } from "../../client/outgoing-call.ts";
import type { Notice } from "../../connection/notices.ts";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import { WireError } from "../../protocol/errors.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import type { Reply, Request } from "../../protocol/message.ts";
import { pause } from "../../protocol/waiting.ts";
import { callFacts } from "../call-facts.ts";
import { mcpNotices } from "../notices.ts";
import {
  type ClientDeclaration,
  type HandshakePeer,
  initialize,
  isHandshake,
  type NegotiationOptions,
  negotiate,
  type ServerDescription,
} from "./handshake.ts";
import { SessionLost } from "./http/http-mapping.ts";
import type { Answering } from "./input.ts";
import { ObservedSession } from "./observed-session.ts";
import { ResultCache } from "./result-cache.ts";
import { longestRetryMs, retryMs } from "./retry-waits.ts";
import { serverRequests } from "./server-requests.ts";
import { namingMethod } from "./unknown-method.ts";
import { endWith, type Patience, type RequestOptions, waitedFor } from "./waiting.ts";
import type { McpLink, McpWire } from "./wire.ts";

/** Params of a request; MCP passes them by name only. */
export type McpParams = { readonly [name: string]: unknown };

export interface ProtocolClientOptions extends NegotiationOptions {
  readonly declaration: ClientDeclaration;
  readonly input: Answering;
  readonly log: Log;
  readonly clock: Clock | undefined;
  readonly timeoutMs: number | undefined;
  readonly use: readonly Middleware[];
  readonly cache: boolean;
}

type Notified = (method: string, params: McpParams) => void;

/** Speaks MCP with one server: the handshake, requests in the form of its era, and its notifications. */
export class ProtocolClient {
  readonly link: McpLink;
  readonly declaration: ClientDeclaration;
  readonly input: Answering;
  readonly log: Log;
  readonly clock: Clock | undefined;
  readonly hasHeaders: boolean;
  readonly #options: ProtocolClientOptions;
  readonly #client: Client;
  readonly #requests: ReturnType<typeof serverRequests>;
  readonly #closing = new AbortController();
  readonly #cache: ResultCache | undefined;
  readonly #listeners = {
    notified: new Set<Notified>(),
    renewed: new Set<() => void>(),
    missed: new Set<() => void>(),
    lost: new Set<() => void>(),
    closed: new Set<() => void>(),
  };
  /** Listens to every notification of the server. */
  readonly onNotified = adder(this.#listeners.notified);
  /** Runs when a new session replaced one that was lost. */
  readonly onRenewed = adder(this.#listeners.renewed);
  /** Runs when notifications of the server may have been missed. */
  readonly onMissed = adder(this.#listeners.missed);
  /** Runs when the connection was lost, on wires that have one. */
  readonly onLost = adder(this.#listeners.lost);
  /** Runs when the client is closed; cheaper than an abort listener for each subscription. */
  readonly onClosed = adder(this.#listeners.closed);
  readonly #session: ObservedSession;
  #server: ServerDescription | undefined;
  #connecting: Promise<ServerDescription> | undefined;
  /** Whether a handshake has succeeded before. */
  #greeted = false;

  constructor(wire: McpWire, options: ProtocolClientOptions) {
    const { declaration, input, log, clock, timeoutMs, use } = options;
    this.#options = options;
    this.declaration = declaration;
    this.input = input;
    this.log = log;
    this.clock = clock;
    this.hasHeaders = wire.hasHeaders;
    this.#session = new ObservedSession(clock, use, wire.hasHeaders ? "http" : undefined);
    if (options.cache) this.#cache = new ResultCache(clock ?? systemClock);
    const notified: Notified = (method, params) => this.#notify(method, params);
    this.#requests = serverRequests(input, notified, log, clock);
    this.link = wire.open({
      service: this.#requests.host,
      log,
      notices: {
        ...mcpNotices,
        read: (method, params) => this.#noticeIn(method, params),
      },
      gap: () => runAll(this.#listeners.missed),
      lost: () => {
        this.#session.end("CONNECTION_LOST");
        runAll(this.#listeners.lost);
      },
      forgotten: () => void this.#sessionForgotten(),
      greet: (peer) => this.#greet(peer),
    });
    this.#client = new Client(this.link, {
      use: [
        ...(use.length === 0 ? [] : [(next: Handle) => this.#withFacts(next)]),
        ...use,
        (next) => this.#inServerEra(next),
      ],
      log,
      ...(clock !== undefined && { clock }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  /** How the server described itself; undefined before the handshake. */
  get server(): ServerDescription | undefined {
    return this.#server;
  }

  /** Makes the handshake once, however often it is called. */
  connect(): Promise<ServerDescription> {
    this.#connecting ??= this.#settled(
      negotiate(this.#client, this.declaration, this.#options, this.hasHeaders),
    );
    return this.#connecting;
  }

  /** Waits for the handshake within the limits of one request. */
  connected(method: string, patience: Patience = {}): Promise<ServerDescription> {
    const connected = this.connect();
    return this.#server === undefined
      ? waitedFor(connected, method, patience, this.clock)
      : connected;
  }

  async request<Result>(
    method: string,
    params: McpParams = {},
    options?: RequestOptions,
  ): Promise<Result> {
    const { era } = this.#server ?? (await this.connected(method, options));
    const cache = era === "modern" && !isAnswer(params) ? this.#cache : undefined;
    const kept = cache?.get(method, params);
    if (kept !== undefined) return kept as Result;
    const since = cache?.changes ?? 0;
    try {
      const result = await this.#client.call<object>(method, params, options);
      if (typeof result === "object" && result !== null) cache?.keep(method, params, result, since);
      return result as Result;
    } catch (error) {
      throw namingMethod(error, method);
    }
  }

  async notify(method: string, params?: McpParams): Promise<void> {
    await this.connect();
    await this.#client.notify(method, params);
  }

  /** Clears the cache, because a change notification may have been missed. */
  forget(): void {
    this.#cache?.clear();
  }

  /** The request in the form of the server's era. */
  written(request: Request, reports: boolean): Request {
    const { jsonrpc, method, id } = request;
    const params = (request.params ?? {}) as McpParams;
    const server = this.#server;
    const token = reports ? id : undefined;
    if (server?.era !== "modern" && token === undefined) {
      return { jsonrpc, method, id, params: request.params };
    }
    const _meta: Record<string, unknown> = {
      ...(server?.era === "modern" && this.declaration.envelope(server.revision)),
      // What a gateway sends about its client replaces what it sends about itself.
      ...(params._meta as object | undefined),
    };
    if (token !== undefined) _meta.progressToken = token;
    return { jsonrpc, method, id, params: { ...params, _meta } };
  }

  /** Aborts when the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): Promise<void> {
    this.#closing.abort();
    this.#session.end();
    runAll(this.#listeners.closed);
    this.#requests.end();
    return this.#client.close();
  }

  /** Describes the request to the user's middleware in terms of MCP. */
  #withFacts(next: Handle): Handle {
    return (request, context) => {
      const facts = callFacts(request.method, request.params, this.#server ?? {});
      return next(request, Object.assign(context, { facts }));
    };
  }

  #inServerEra(next: Handle): Handle {
    const isTimed = this.#options.timeoutMs !== Number.POSITIVE_INFINITY;
    return (request, context) => {
      // Progress extends the timeout of a tool call even if the caller does not listen to it.
      const reports =
        context.outgoing?.options?.onProgress !== undefined ||
        (isTimed && request.method === "tools/call");
      endWith(context.outgoing as OutgoingCall);
      const server = this.#server;
      const sent = next(this.written(request, reports), context);
      // Only over HTTP can a server forget a session and keep the connection.
      if (!this.hasHeaders || server?.era !== "legacy" || isHandshake(request.method)) return sent;
      return this.#inSession(sent, server, () => next(this.written(request, reports), context));
    };
  }

  async #inSession(
    sent: ReturnType<Handle>,
    server: ServerDescription,
    again: () => ReturnType<Handle>,
  ): Promise<Reply | undefined> {
    try {
      return await sent;
    } catch (error) {
      if (!isSessionLost(error)) throw error;
      await this.#renew(server);
      return this.#resent(again());
    }
  }

  /** A request that a new session refuses too was not refused for its session. */
  async #resent(reply: ReturnType<Handle>): Promise<Reply | undefined> {
    try {
      return await reply;
    } catch (error) {
      throw error instanceof SessionLost ? (error.cause ?? error) : error;
    }
  }

  /** All requests that find the session lost wait for the same new one. */
  async #renew(lost: ServerDescription | undefined): Promise<void> {
    if (this.#server === lost) {
      this.#session.end("SESSION_LOST");
      this.#server = undefined;
      this.#connecting = undefined;
    }
    this.#connecting ??= this.#settled(initialize(this.#client, this.declaration));
    await this.#connecting;
  }

  async #settled(handshake: Promise<ServerDescription>): Promise<ServerDescription> {
    try {
      this.#server = await handshake;
    } catch (error) {
      this.#connecting = undefined;
      throw error;
    }
    this.#session.begin(this.#server);
    if (this.#greeted) this.#sessionRenewed();
    this.#greeted = true;
    return this.#server;
  }

  /** Opens a new session for subscriptions, which make no request that would notice the loss. */
  async #sessionForgotten(): Promise<void> {
    const lost = this.#server;
    const { signal } = this.#closing;
    for (let delayMs = retryMs; !signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      if (this.#listeners.renewed.size === 0 || lost?.era !== "legacy") return;
      try {
        return await this.#renew(lost);
      } catch {
        await pause(delayMs, this.clock, signal);
      }
    }
  }

  /** After a reconnect the server does not know the previous session. */
  async #greet(peer: HandshakePeer): Promise<void> {
    const before = this.#server;
    if (before === undefined) return;
    this.#cache?.clear();
    if (before.era === "legacy") {
      this.#server = await initialize(peer, this.declaration);
      this.#session.begin(this.#server);
    }
    // The wire takes further requests only after this function returns.
    queueMicrotask(() => this.#sessionRenewed());
  }

  /** A modern server sends no requests to cancel; its cancellations end subscriptions, which handle them. */
  #noticeIn(method: string, params: unknown): Notice | undefined {
    const notice = mcpNotices.read(method, params);
    return notice?.kind === "cancel" && this.#server?.era === "modern" ? undefined : notice;
  }

  #sessionRenewed(): void {
    this.#cache?.clear();
    runAll(this.#listeners.renewed);
  }

  #notify(method: string, params: McpParams): void {
    this.#cache?.invalidate(method, params);
    for (const listener of [...this.#listeners.notified]) {
      try {
        listener(method, params);
      } catch (error) {
        this.log.error({ err: error, method }, "a listener of notifications threw");
      }
    }
  }
}

/** A function that adds a listener and returns how to remove it. */
function adder<L>(listeners: Set<L>): (listener: L) => () => void {
  return (listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
}

function runAll(listeners: ReadonlySet<() => void>): void {
  for (const listener of [...listeners]) listener();
}

/** Answers to the server's questions belong to one exchange, so the result must not be cached. */
function isAnswer(params: McpParams): boolean {
  return params.inputResponses !== undefined || params.requestState !== undefined;
}

function isSessionLost(error: unknown): boolean {
  if (!(error instanceof WireError)) return false;
  if (error instanceof SessionLost) return true;
  // A stream that could not be resumed has such a status too, but then the server has accepted the request.
  return error.code === "HTTP_STATUS" && (error.status === 404 || error.status === 405);
}
