import { EventEmitter } from "node:events";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { FastConnection, type FastEndpoint, type FastHost } from "../http/fast-path/connection.ts";
import type { FastMessage } from "../http/fast-path/message.ts";

import { Outbox, Replies } from "../http/fast-path/replies.ts";
import { NodeMessage } from "../http/node-message.ts";

export interface FastPathSettings {
  /** The event with which Node begins to read a connection. */
  readonly event: "connection" | "secureConnection";
  /** How often to look for silent clients. */
  readonly checkIntervalMs: number;
  /** What answers requests to this target; undefined if Node has to. */
  readonly endpointAt: (target: string) => FastEndpoint | undefined;
  /** Whether all requests of this connection are refused, because there are too many connections. */
  readonly isRefused: (socket: Duplex) => boolean;
}

/** Stands before a server of Node: reads the plain requests of its connections, and gives it all others. */
export class FastPath implements FastHost {
  readonly replies: Replies;
  readonly outbox = new Outbox();
  readonly endpointAt: (target: string) => FastEndpoint | undefined;
  readonly #server: Server;
  readonly #settings: FastPathSettings;
  /** What Node does with a new connection. */
  readonly #serve: (socket: Duplex) => void;
  readonly #open = new Set<FastConnection>();
  /** Connections that were seen before: one whose upgrade is ignored is emitted a second time. */
  readonly #known = new WeakSet<Duplex>();
  #isStopped = false;
  /** The call of the connection that Node is about to read. */
  #leaving: FastMessage | undefined = undefined;

  private constructor(server: Server, settings: FastPathSettings, serve: (socket: Duplex) => void) {
    this.#server = server;
    this.#settings = settings;
    this.#serve = serve;
    this.endpointAt = settings.endpointAt;
    this.replies = new Replies(() => server.keepAliveTimeout);
  }

  /** Undefined where the server does not read sockets itself, as in other runtimes, or a tracing tool has patched it. */
  static before(server: Server, settings: FastPathSettings): FastPath | undefined {
    const [listener] = server.listeners(settings.event);
    if (listener === undefined || server.emit !== EventEmitter.prototype.emit) return undefined;
    const serve = (socket: Duplex): void => void listener.call(server, socket);
    const path = new FastPath(server, settings, serve);
    server.off(settings.event, listener as () => void);
    path.#listen();
    return path;
  }

  /** Gives all open and future connections to Node. */
  stop(): void {
    this.#isStopped = true;
    for (const connection of [...this.#open]) connection.leave();
  }

  /** Continues the call of a connection that has left, if this is its request. */
  adopt(request: IncomingMessage, response: ServerResponse): boolean {
    const message = this.#leaving;
    const endpoint = message === undefined ? undefined : this.endpointAt(message.url);
    if (message === undefined || endpoint === undefined) return false;
    this.#leaving = undefined;
    message.adopt(new NodeMessage(request, response, endpoint.rules.limits));
    // The call already has the body, but Node reads no further request until this one is consumed.
    request.resume();
    return true;
  }

  serveByNode(connection: FastConnection, bytes: Buffer, message: FastMessage | undefined): void {
    this.#open.delete(connection);
    this.#leaving = message;
    this.#serve(connection.socket);
    // Unlike `unshift`, this lets Node read it at once, so that a call that runs has its response.
    if (bytes.length > 0) connection.socket.emit("data", bytes);
    this.#leaving = undefined;
  }

  failed({ socket }: FastConnection, error: Error): void {
    this.#server.emit("clientError", error, socket);
  }

  closed(connection: FastConnection): void {
    this.#open.delete(connection);
  }

  #listen(): void {
    const server = this.#server;
    server.on(this.#settings.event, (socket: Duplex) => this.#accept(socket));
    // Other code wants to see every request.
    server.on("newListener", (event) => {
      if (event === "request") this.stop();
    });
    const closeIdle = server.closeIdleConnections.bind(server);
    server.closeIdleConnections = () => {
      for (const { isIdle, socket } of this.#open) if (isIdle) socket.destroy();
      closeIdle();
    };
    const closeAll = server.closeAllConnections.bind(server);
    server.closeAllConnections = () => {
      for (const { socket } of this.#open) socket.destroy();
      closeAll();
    };
    const { checkIntervalMs } = this.#settings;
    const checking = setInterval(
      () => {
        const now = performance.now();
        for (const connection of this.#open) connection.checkSilence(now, server);
      },
      Math.min(checkIntervalMs, server.keepAliveTimeout || checkIntervalMs),
    ).unref();
    server.once("close", () => clearInterval(checking));
  }

  #accept(socket: Duplex): void {
    if (this.#known.has(socket) || !this.#isFor(socket)) {
      this.#serve(socket);
      return;
    }
    this.#known.add(socket);
    this.#open.add(new FastConnection(socket, this));
  }

  #isFor(socket: Duplex): boolean {
    const { timeout, maxHeadersCount, maxRequestsPerSocket } = this.#server;
    // Settings that only Node's own server applies.
    const isSet = timeout > 0 || maxHeadersCount !== null || Number(maxRequestsPerSocket) > 0;
    return !this.#isStopped && !isSet && !this.#settings.isRefused(socket);
  }
}
