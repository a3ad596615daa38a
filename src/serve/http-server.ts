/// <reference lib="esnext.disposable" preserve="true" />

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { NodeHead } from "../http/node-head.ts";
import { countRequest } from "../http/pipeline.ts";
import { busy, notFound, unavailable, upgradeRequired } from "../http/refusal.ts";
import { hasUpload } from "../http/upload-sockets.ts";
import { defaultDrainMs, defaultMinTlsVersion } from "../protocol/defaults.ts";
import { isThenable } from "../protocol/message.ts";
import type { Service } from "../protocol/service.ts";
import { settledOrTimeout } from "../protocol/waiting.ts";
import { ConnectionCounts } from "../streams/connection-counts.ts";
import { limitHandshakes } from "../streams/tls-handshakes.ts";
import { acceptWaiting } from "../streams/waiting-connections.ts";
import type { Endpoint } from "../transports/http/endpoint.ts";
import type { EndpointRules } from "../transports/http/endpoint-rules.ts";
import { handleNode, type NodeHandler, nodeEndpoint } from "../transports/http/node-handler.ts";
import { type UpgradeHandler, wsUpgrade } from "../transports/ws/upgrade.ts";
import { FastPath } from "./fast-path.ts";
import { Handlers } from "./handlers.ts";
import { probe } from "./health-probes.ts";
import type { ServeHttpOptions } from "./http-options.ts";
import { HttpSockets, RefusedSockets } from "./http-sockets.ts";
import { ignoreUpgrade } from "./ignored-upgrade.ts";
import { hostName, isAnyAddress, listenError, reachable } from "./listen-address.ts";
import { Playground } from "./playground.ts";
import { clientErrorRefusal, respond, writeRefusal } from "./raw-refusal.ts";

interface Mount {
  readonly endpoint: Endpoint;
  readonly upgrade: UpgradeHandler | undefined;
}

/** The endpoint at the same path has already checked Host and Origin. */
const checkedByEndpoint = { hosts: "any", origins: () => true } as const;
/** How long requests that are still arriving may delay closing after the last call. */
const arrivalMs = 1_000;
/** How long the last replies may take to be sent. */
const lastRepliesMs = 250;

/** An HTTP server and the services on it. */
export class HttpServer implements AsyncDisposable {
  /** Node's own server, for anything that this one does not do. */
  readonly server: Server;
  readonly #service: Service;
  readonly #options: ServeHttpOptions;
  readonly #path: string;
  readonly #routes = new Map<string, Mount>();
  readonly #upgrades = new Map<string, Mount>();
  /** Checks requests for handlers, by the Host and Origin of the service. */
  readonly #guard: EndpointRules;
  readonly #handlers: Handlers;
  readonly #playground: Playground | undefined;
  /** All sockets, including those that Node's server does not close: WebSockets, and unfinished TLS handshakes. */
  readonly #accepted = new Set<Duplex>();
  readonly #sockets: HttpSockets;
  readonly #counts: ConnectionCounts;
  readonly #refused: RefusedSockets;
  readonly #fastPath: FastPath | undefined;
  #port = 0;
  #gone: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(service: Service, options: ServeHttpOptions) {
    const { path = "/rpc", mounts = {}, tls } = options;
    this.#service = service;
    this.#options = options;
    this.#path = path;
    this.#guard = this.#mount(path, service).rules;
    this.#handlers = new Handlers(service.log);
    for (const [place, other] of Object.entries(mounts)) {
      if (this.#routes.has(place))
        throw new TypeError(`"${place}" is used twice in path and mounts`);
      if (typeof other === "function") this.#handlers.add(place, other);
      else this.#mount(place, other);
    }
    if (options.playground === true) {
      if (this.#routes.has("/")) {
        throw new TypeError('the playground is at "/", so the service needs another path');
      }
      const others = Object.keys(mounts).filter((place) => this.#routes.has(place));
      this.#playground = new Playground({
        endpoints: [path, ...others],
        ...(options.webSocket === false && { wires: ["http", "sse"] }),
      });
    }
    const { headersTimeoutMs = 10_000, requestTimeoutMs = 30_000 } = options;
    const settings = {
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: options.checkIntervalMs ?? 2_000,
      keepAliveTimeout: options.keepAliveTimeoutMs ?? 65_000,
    };
    const { clock } = service.running;
    if (tls === undefined) this.server = createServer(settings);
    else {
      const handshakeTimeout = tls.handshakeTimeout ?? headersTimeoutMs;
      const server = createSecureServer({
        minVersion: defaultMinTlsVersion,
        ...settings,
        ...tls,
        handshakeTimeout,
      });
      limitHandshakes(server, handshakeTimeout, clock);
      this.server = server;
    }
    this.#counts = new ConnectionCounts(options, service.log, clock);
    this.#refused = new RefusedSockets(clock);
    this.server.maxConnections = this.#counts.max + RefusedSockets.most;
    this.#listenTo(this.server);
    this.#sockets = new HttpSockets(this.server, this.#connectionEvent(), service.watch);
    if (options.fastPath !== false) {
      this.#fastPath = FastPath.before(this.server, {
        event: this.#connectionEvent(),
        checkIntervalMs: settings.connectionsCheckingInterval,
        endpointAt: (target) => this.#routes.get(target)?.endpoint,
        isRefused: (socket) => this.#refused.has(socket),
      });
    }
  }

  /** The port that it listens on; 0 before `listen`. */
  get port(): number {
    return this.#port;
  }

  /** The URL of the service. */
  get url(): string {
    const scheme = this.#options.tls === undefined ? "http" : "https";
    return `${scheme}://${reachable(this.#options.host ?? "127.0.0.1")}:${this.port}${this.#path}`;
  }

  listen(): Promise<void> {
    const { port = 8000, host = "127.0.0.1" } = this.#options;
    return new Promise((resolve, reject) => {
      const fail = (error: NodeJS.ErrnoException): void => reject(listenError(error, port, host));
      this.server.once("error", fail);
      this.server.listen(port, host, () => {
        this.server.off("error", fail);
        // Kept, because a closed server has no address.
        this.#port = (this.server.address() as AddressInfo).port;
        this.server.on("error", (error) =>
          this.#service.log.error({ err: error }, "cannot accept connections"),
        );
        this.#service.onClose(() => this.close());
        resolve();
      });
    });
  }

  /** Accepts no more connections, and closes open ones after their next response; waits for that, within a limit. */
  async retire(mostMs: number): Promise<void> {
    const { clock } = this.#service.running;
    this.server.prependListener("request", (_, response: ServerResponse) => {
      response.shouldKeepAlive = false;
    });
    await acceptWaiting(this.server);
    await settledOrTimeout(clock, mostMs, this.#stopListening());
  }

  /** Resolves when the last connection has closed. */
  #stopListening(): Promise<void> {
    // Called by Node's `close`, it would destroy the connections that wait for a request before they get a response.
    this.server.closeIdleConnections = () => {};
    this.#gone ??= new Promise<void>((resolve) => this.server.close(() => resolve()));
    return this.#gone;
  }

  /** Accepts no more connections and calls, lets what runs finish, then closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const { clock } = this.#service.running;
    this.#fastPath?.stop();
    const mounts = new Set(this.#routes.values());
    const endpoints = Array.from(mounts, ({ endpoint }) => endpoint);
    for (const endpoint of endpoints) endpoint.close();
    const { drainMs = defaultDrainMs } = this.#options;
    const upgraded = Array.from(mounts, ({ upgrade }) => upgrade?.close({ drainMs }));
    // If only this server closes, another process may be about to take its port.
    if (this.#service.answerer.draining) await acceptWaiting(this.server);
    let closed = false;
    const gone = this.#stopListening().then(() => {
      closed = true;
    });
    // A connection whose body nothing reads does not keep the process alive.
    const atMost = (ms: number): Promise<void> => settledOrTimeout(clock, ms, gone, true);
    await this.#sockets.dismissIdle(clock);
    const idle = Promise.all([
      ...endpoints.map((endpoint) => endpoint.idle()),
      ...upgraded,
      this.#handlers.idle(),
    ]);
    await Promise.race([atMost(drainMs), idle.then(() => atMost(arrivalMs))]);
    if (!closed) {
      for (const endpoint of endpoints) endpoint.cutShort();
      await atMost(lastRepliesMs);
    }
    for (const socket of this.#accepted) socket.destroy();
    this.server.closeAllConnections();
    await gone;
  }

  #mount(path: string, service: Service): Endpoint {
    if (!path.startsWith("/")) throw new TypeError(`the path "${path}" must begin with a slash`);
    const { host = "127.0.0.1", webSocket } = this.#options;
    const endpoint = nodeEndpoint(
      service,
      this.#options,
      isAnyAddress(host) ? undefined : hostName(host),
    );
    const upgrade =
      webSocket === false ? undefined : wsUpgrade(service, { ...webSocket, ...checkedByEndpoint });
    const mount = { endpoint, upgrade };
    const below = path.endsWith("/") ? path : `${path}/`;
    const places = [path, `${below}stream`, ...(service.trailingSlash === true ? [below] : [])];
    for (const place of places) this.#routes.set(place, mount);
    for (const place of [path, `${below}ws`]) this.#upgrades.set(place, mount);
    return endpoint;
  }

  #listenTo(server: Server): void {
    server.on("connection", (socket: Socket) => {
      // A socket whose upgrade is ignored is emitted a second time.
      if (this.#accepted.has(socket)) return;
      this.#accepted.add(socket);
      socket.once("close", () => this.#accepted.delete(socket));
      if (!this.#counts.take(socket)) this.#turnAway(socket);
    });
    server.on("request", (request, response) => this.#request(request, response, false));
    server.on("checkContinue", (request, response) => this.#request(request, response, true));
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    server.on("clientError", (error: Error & { code?: string }, socket) => {
      if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && hasUpload(socket)) return;
      const refusal = clientErrorRefusal(error, socket);
      if (refusal === undefined) socket.destroy(error);
      else writeRefusal(socket, refusal);
    });
    server.on("drop", () => this.#counts.dropped());
  }

  #turnAway(socket: Socket): void {
    this.#service.watch?.refused("http", busy.status);
    // A client whose handshake fails knows that nothing ran; others need a response.
    if (this.#options.tls === undefined) this.#refused.add(socket);
    else socket.destroy();
  }

  #request(request: IncomingMessage, response: ServerResponse, waits: boolean): void {
    if (this.#fastPath?.adopt(request, response)) return;
    // It got its response when the server began to close, and nothing more can be written.
    if (this.#closing !== undefined && request.socket.writableEnded) {
      request.resume();
      return;
    }
    if (this.#refused.has(request.socket)) {
      respond(response, busy);
      return;
    }
    const { url = "" } = request;
    const mount = this.#routes.get(url) ?? this.#routes.get(pathOf(url));
    if (mount === undefined) this.#other(request, response, pathOf(url), waits);
    else if (this.#closing !== undefined) respond(response, unavailable);
    else handleNode(mount.endpoint, request, response, waits);
  }

  /** A request whose path has no service. */
  #other(request: IncomingMessage, response: ServerResponse, path: string, waits: boolean): void {
    countRequest(request, response, this.#guard.limits.buffers);
    if (request.socket.destroyed) return;
    const handler = this.#handlers.at(path) ?? this.#pageAt(path);
    if (handler === undefined) {
      const probed = probe(path, this.#isDraining(), this.#options.ready);
      if (isThenable(probed)) void probed.then((answer) => respond(response, answer));
      else respond(response, probed ?? notFound);
      return;
    }
    const refusal = this.#guard.refuseVisitor(new NodeHead(request));
    if (refusal !== undefined) respond(response, refusal);
    else {
      if (waits) response.writeContinue();
      this.#handlers.run(handler, request, response);
    }
  }

  #pageAt(path: string): NodeHandler | undefined {
    const page = this.#playground;
    return page?.has(path) ? (request, response) => page.handle(request, response) : undefined;
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy());
    if (request.headers.upgrade?.toLowerCase() !== "websocket") {
      ignoreUpgrade(this.server, this.#connectionEvent(), request, socket, head);
      return;
    }
    const mount = this.#upgrades.get(pathOf(request.url ?? ""));
    const refusal = this.#refused.has(socket)
      ? busy
      : mount === undefined
        ? notFound
        : (mount.endpoint.rules.refuse(new NodeHead(request)) ??
          (this.#closing === undefined ? undefined : unavailable));
    if (refusal !== undefined) writeRefusal(socket, refusal);
    else if (mount?.upgrade === undefined) writeRefusal(socket, upgradeRequired);
    else {
      this.#sockets.left(socket);
      mount.upgrade(request, socket, head);
    }
  }

  #connectionEvent(): "connection" | "secureConnection" {
    return this.#options.tls === undefined ? "connection" : "secureConnection";
  }

  #isDraining(): boolean {
    return this.#closing !== undefined || this.#service.answerer.draining;
  }
}

/** The path without the query, and without the scheme and host that proxies may add. */
function pathOf(url: string): string {
  const path = url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "");
  const query = path.indexOf("?");
  return query === -1 ? path : path.slice(0, query);
}
