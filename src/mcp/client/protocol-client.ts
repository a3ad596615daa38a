import { Client } from "../../client/client.ts";
import type { CallOptions, OutgoingCall } from "../../client/outgoing-call.ts";
import type { Notice } from "../../connection/notices.ts";
import { type Clock, systemClock } from "../../protocol/clock.ts";
import { methodNotFound, RemoteError, WireError } from "../../protocol/errors.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import type { Request } from "../../protocol/message.ts";
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
import type { Input } from "./input.ts";
import { longestRetryMs, pause, retryMs } from "./pause.ts";
import { ResultCache } from "./result-cache.ts";
import { InputTasks, serverRequestHost } from "./server-requests.ts";
import { type Patience, waitedFor } from "./waiting.ts";
import type { McpLink, McpWire } from "./wire.ts";

/** Params of a request, by name as MCP has them. */
export type McpParams = { readonly [name: string]: unknown };

export interface ProtocolClientOptions extends NegotiationOptions {
  readonly declaration: ClientDeclaration;
  readonly input: Input;
  readonly log: Log;
  readonly clock: Clock | undefined;
  readonly timeoutMs: number | undefined;
  readonly use: readonly Middleware[];
  readonly cache: boolean;
}

type Notified = (method: string, params: McpParams) => void;

/** What is said with one server: the handshake, requests in the words of its era, and what it tells. */
export class ProtocolClient {
  readonly link: McpLink;
  readonly declaration: ClientDeclaration;
  readonly input: Input;
  readonly log: Log;
  readonly clock: Clock | undefined;
  readonly hasHeaders: boolean;
  readonly #options: ProtocolClientOptions;
  readonly #client: Client;
  readonly #tasks: InputTasks;
  readonly #closing = new AbortController();
  readonly #cache: ResultCache | undefined;
  readonly #notified = new Set<Notified>();
  readonly #renewed = new Set<() => void>();
  readonly #missed = new Set<() => void>();
  readonly #closed = new Set<() => void>();
  #server: ServerDescription | undefined;
  #connecting: Promise<ServerDescription> | undefined;
  /** Whether there was a session, or what stands for one, before. */
  #greeted = false;

  constructor(wire: McpWire, options: ProtocolClientOptions) {
    const { declaration, input, log, clock, timeoutMs, use } = options;
    this.#options = options;
    this.declaration = declaration;
    this.input = input;
    this.log = log;
    this.clock = clock;
    this.hasHeaders = wire.hasHeaders;
    if (options.cache) this.#cache = new ResultCache(clock ?? systemClock);
    const notified: Notified = (method, params) => this.#hear(method, params);
    this.#tasks = new InputTasks(input, log, clock);
    const service = serverRequestHost({ input, tasks: this.#tasks, notified, log, clock });
    this.link = wire.open({
      service,
      log,
      notices: {
        ...mcpNotices,
        read: (method, params) => this.#noticeIn(method, params),
      },
      gap: () => tellAll(this.#missed),
      forgotten: () => void this.#forgotten(),
      greet: (peer) => this.#greet(peer),
    });
    this.#client = new Client(this.link, {
      use: [...use, (next) => this.#speaking(next)],
      log,
      ...(clock !== undefined && { clock }),
      ...(timeoutMs !== undefined && { timeoutMs }),
    });
  }

  /** What the server said of itself, once it was asked. */
  get server(): ServerDescription | undefined {
    return this.#server;
  }

  /** Finds out which era the server is of; once, however often it is called. */
  connect(): Promise<ServerDescription> {
    this.#connecting ??= this.#settled(
      negotiate(this.#client, this.declaration, this.#options, this.hasHeaders),
    );
    return this.#connecting;
  }

  /** The same for one request, which may have less time than the handshake. */
  connected(method: string, patience: Patience = {}): Promise<ServerDescription> {
    const connected = this.connect();
    return this.#server === undefined
      ? waitedFor(connected, method, patience, this.clock)
      : connected;
  }

  async request<Result>(
    method: string,
    params: McpParams = {},
    options?: CallOptions,
  ): Promise<Result> {
    const { era } = await this.connected(method, options);
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

  /** Hears every notification of the server. */
  onNotified(listener: Notified): () => void {
    this.#notified.add(listener);
    return () => this.#notified.delete(listener);
  }

  /** Hears that a new session took the place of one that was lost. */
  onRenewed(listener: () => void): () => void {
    this.#renewed.add(listener);
    return () => this.#renewed.delete(listener);
  }

  /** Hears that something which the server said by itself may have been missed. */
  onMissed(listener: () => void): () => void {
    this.#missed.add(listener);
    return () => this.#missed.delete(listener);
  }

  /** Hears that the client is closed. Signals are not made for many listeners. */
  onClosed(listener: () => void): () => void {
    this.#closed.add(listener);
    return () => this.#closed.delete(listener);
  }

  /** Word of a change may have been missed, so that nothing of what was kept holds. */
  forget(): void {
    this.#cache?.clear();
  }

  /** A request in the words of the server's era. */
  written(request: Request, reports: boolean): Request {
    const { jsonrpc, method, id } = request;
    const params = (request.params ?? {}) as McpParams;
    const server = this.#server;
    const _meta = {
      ...(params._meta as object | undefined),
      ...(id !== undefined && reports && { progressToken: id }),
      ...(server?.era === "modern" && this.declaration.envelope(server.revision)),
    };
    const isBare = Object.keys(_meta).length === 0;
    return { jsonrpc, method, id, params: isBare ? request.params : { ...params, _meta } };
  }

  /** Aborts when the client is closed. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  close(): Promise<void> {
    this.#closing.abort();
    for (const listener of this.#closed) listener();
    this.#tasks.end();
    return this.#client.close();
  }

  #speaking(next: ReturnType<Middleware>): ReturnType<Middleware> {
    return async (request, context) => {
      // A tool that reports is not given up, whether or not somebody listens to its reports.
      const { options } = context as OutgoingCall;
      const reports = options.onProgress !== undefined || request.method === "tools/call";
      const server = this.#server;
      try {
        return await next(this.written(request, reports), context);
      } catch (error) {
        if (isHandshake(request.method) || !isSessionLost(error, server)) throw error;
        await this.#renew(server);
        return next(this.written(request, reports), context);
      }
    };
  }

  /** All who notice that a session is gone wait for the same new one. */
  async #renew(lost: ServerDescription | undefined): Promise<void> {
    if (this.#server === lost) {
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
    if (this.#greeted) this.#tellRenewed();
    this.#greeted = true;
    return this.#server;
  }

  /** The session is gone. Who only listens makes no request that would find out. */
  async #forgotten(): Promise<void> {
    const lost = this.#server;
    const { signal } = this.#closing;
    for (let delayMs = retryMs; !signal.aborted; delayMs = Math.min(delayMs * 2, longestRetryMs)) {
      if (this.#renewed.size === 0 || lost?.era !== "legacy") return;
      try {
        return await this.#renew(lost);
      } catch {
        await pause(delayMs, this.clock, signal);
      }
    }
  }

  /** A wire that healed leads to a server that knows nothing of the session before. */
  async #greet(peer: HandshakePeer): Promise<void> {
    const before = this.#server;
    if (before === undefined) return;
    this.#cache?.clear();
    if (before.era === "legacy") this.#server = await initialize(peer, this.declaration);
    // Not before the wire is ready for more.
    queueMicrotask(() => this.#tellRenewed());
  }

  /** In the modern era a server has asked nothing; what it takes back is a subscription, which hears of it. */
  #noticeIn(method: string, params: unknown): Notice | undefined {
    const notice = mcpNotices.read(method, params);
    return notice?.kind === "cancel" && this.#server?.era === "modern" ? undefined : notice;
  }

  #tellRenewed(): void {
    this.#cache?.clear();
    tellAll(this.#renewed);
  }

  #hear(method: string, params: McpParams): void {
    this.#cache?.heard(method, params);
    for (const listener of [...this.#notified]) {
      try {
        listener(method, params);
      } catch (error) {
        this.log.error({ err: error, method }, "a listener threw");
      }
    }
  }
}

function tellAll(listeners: ReadonlySet<() => void>): void {
  for (const listener of [...listeners]) listener();
}

/** What answers a question of the server is about one exchange only. */
function isAnswer(params: McpParams): boolean {
  return params.inputResponses !== undefined || params.requestState !== undefined;
}

function isSessionLost(error: unknown, server: ServerDescription | undefined): boolean {
  if (!(error instanceof WireError) || server?.era !== "legacy") return false;
  // A stream that could not be resumed has such a status too, and its request was taken.
  return error.code === "HTTP_STATUS" && (error.status === 404 || error.status === 405);
}

/** Most servers say this of a method that they do not know, and not of which one. */
const bare = /^method not found\.?$/i;

/** Names the method, which is not that of the client that its user called. */
export function namingMethod(error: unknown, method: string): unknown {
  if (!(error instanceof RemoteError) || error.code !== methodNotFound.code) return error;
  if (!bare.test(error.message)) return error;
  return new RemoteError(error.code, `${methodNotFound.message}: ${method}`, error.data);
}
