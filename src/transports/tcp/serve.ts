/// <reference lib="esnext.disposable" preserve="true" />

import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";
import { Connection } from "../../connection/connection.ts";
import type { Decision } from "../../connection/connection-admission.ts";
import { StreamChannel } from "../../connection/stream-channel.ts";
import type { Framing } from "../../framing/framing.ts";
import { type FramingChoice, framingOf } from "../../framing/framing-choice.ts";
import { defaultMinTlsVersion, defaultWriteTimeoutMs } from "../../protocol/defaults.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { Log } from "../../protocol/log.ts";
import { isThenable } from "../../protocol/message.ts";
import type { Transport } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";
import { serverBusy } from "../../protocol/standard-errors.ts";
import { ConnectionCounts, type ConnectionLimits } from "../../streams/connection-counts.ts";
import { peerCertificate } from "../../streams/peer-certificate.ts";
import { limitHandshakes } from "../../streams/tls-handshakes.ts";
import { acceptWaiting } from "../../streams/waiting-connections.ts";
import { closeWhenIdle } from "./idle.ts";
import { socketStream } from "./socket-stream.ts";
import { listening, UnixPath } from "./unix-path.ts";

/** This many connections above the limit get a reply that the server is busy; the rest are dropped. */
const mostToldBusy = 100;
const hourMs = 3_600_000;

export interface ServeSocketOptions extends ConnectionLimits {
  /** The TCP port; 0 takes a free one. @default none */
  readonly port?: number;
  /** The address to listen on; "::" or "0.0.0.0" admit other machines. @default "127.0.0.1" */
  readonly host?: string;
  /** A unix socket, which only this user can open, or a named pipe such as `\\.\pipe\rpc`; instead of a port. */
  readonly path?: string;
  /** Certificate and key, as for Node's `tls.createServer`; uses TLS 1.2 or later. */
  readonly tls?: TlsOptions;
  /** How messages are separated. @default newlineFraming */
  readonly framing?: FramingChoice;
  /** How long a message may take to arrive; stops peers that hold connections with a byte at a time. @default 30000 */
  readonly arrivalTimeoutMs?: number;
  /**
   * How long to wait for a peer that does not read its replies; it holds memory and a connection. 0 waits forever.
   * @default 10000
   */
  readonly writeTimeoutMs?: number;
  /**
   * How long a connection without calls may stay silent; at most 45 s if it never sent a message. Stops peers that
   * take all connections and do nothing. Callwire clients send something every 30 s. `Infinity` waits forever.
   * @default 1 hour
   */
  readonly idleTimeoutMs?: number;
  /** How long running calls may take to finish when this server closes. @default 10000 */
  readonly drainMs?: number;
  /** Called with each new connection, for example to push to it. */
  readonly onConnection?: (connection: Connection) => void;
  /** Where this server logs. @default the service's log */
  readonly log?: Log;
}

/**
 * Serves a service to clients that connect to a port or a path.
 * @example
 * ```ts
 * import { serveSocket } from "callwire/tcp";
 *
 * const tcp = await serveSocket(server, { port: 9000 });
 * await serveSocket(server, { path: "/tmp/rpc.sock" });
 * console.log(tcp.port);
 * ```
 */
export async function serveSocket(
  service: Service,
  options: ServeSocketOptions,
): Promise<SocketServer> {
  const server = new SocketServer(service, options);
  await server.listen();
  return server;
}

/** A listening socket and its connections. */
export class SocketServer implements AsyncDisposable {
  readonly #service: Service;
  readonly #options: ServeSocketOptions;
  readonly #framing: Framing;
  readonly #log: Log;
  readonly #server: Server;
  readonly #counts: ConnectionCounts;
  readonly #idleMs: number;
  readonly #unix: UnixPath | undefined;
  readonly #connections = new Set<Connection>();
  readonly #sockets = new Set<Socket>();
  /** Connections above the limit that get a refusal. */
  #toldBusy = 0;
  /** Connections that were accepted during shutdown, and get a refusal. */
  readonly #late: Promise<void>[] = [];
  #address: AddressInfo | undefined;
  #closing: Promise<void> | undefined;

  constructor(service: Service, options: ServeSocketOptions) {
    const { path, port, tls, writeTimeoutMs } = options;
    // As in Node, 0 means no limit.
    if (writeTimeoutMs !== 0) limitOf("writeTimeoutMs", writeTimeoutMs, defaultWriteTimeoutMs);
    if ((path === undefined) === (port === undefined)) {
      throw new TypeError("serveSocket needs either a port or a path");
    }
    this.#service = service;
    this.#options = options;
    this.#framing = framingOf(options.framing);
    this.#log = options.log ?? service.log;
    this.#unix = path === undefined || isPipe(path) ? undefined : new UnixPath(path);
    this.#counts = new ConnectionCounts(options, this.#log, service.running.clock);
    this.#idleMs = limitOf("idleTimeoutMs", options.idleTimeoutMs, hourMs);
    if (tls === undefined) this.#server = createServer();
    else {
      const { handshakeTimeout = 10_000 } = tls;
      const server = createTlsServer(
        { minVersion: defaultMinTlsVersion, ...tls, handshakeTimeout },
        (socket) => this.#accept(socket),
      );
      limitHandshakes(server, handshakeTimeout, service.running.clock);
      this.#server = server;
    }
    this.#server.maxConnections = this.#counts.max + mostToldBusy;
    this.#server.on("connection", (socket: Socket) => this.#connected(socket));
    this.#server.on("drop", () => this.#counts.dropped());
    this.#server.on("tlsClientError", (error: Error) =>
      this.#log.debug({ err: error }, "TLS handshake failed"),
    );
  }

  /** The port; undefined at a path. */
  get port(): number | undefined {
    return this.#address?.port;
  }

  /** The address; undefined at a path. */
  get host(): string | undefined {
    return this.#address?.address;
  }

  get path(): string | undefined {
    return this.#options.path;
  }

  /** Open connections. */
  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  async listen(): Promise<void> {
    const { path, port = 0, host = "127.0.0.1" } = this.#options;
    if (this.#unix !== undefined) await this.#unix.listen(this.#server);
    else await listening(this.#server, path ?? { port, host });
    const address = this.#server.address();
    if (address !== null && typeof address !== "string") this.#address = address;
    this.#server.on("error", (error) =>
      this.#log.error({ err: error }, "the listening socket failed"),
    );
    this.#service.onClose(() => this.close());
  }

  /** Accepts no more connections and calls, lets running calls finish, then closes. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    // If the service itself closes, it has drained already.
    const drainMs = this.#service.answerer.draining ? 0 : this.#options.drainMs;
    const finished = Array.from(this.#connections, (connection) => connection.finish({ drainMs }));
    // If only this server closes, another may be about to take its address.
    if (this.#service.answerer.draining) await acceptWaiting(this.#server);
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#unix?.remove();
    await Promise.all(finished);
    await Promise.all(this.#late);
    // Sockets whose TLS handshake is not done are not connections yet.
    for (const socket of this.#sockets) if (!socket.writableEnded) socket.destroy();
    await closed;
  }

  #connected(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    // Before TLS is established there is no other error listener.
    socket.on("error", () => {});
    const isTls = this.#options.tls !== undefined;
    if (this.#counts.take(socket)) {
      if (!isTls) this.#accept(socket);
      return;
    }
    // A client whose handshake fails knows that nothing ran; others need a refusal.
    if (isTls || this.#toldBusy >= mostToldBusy) socket.destroy();
    else {
      this.#toldBusy++;
      socket.once("close", () => this.#toldBusy--);
      this.#connect(socket, this.#transportOf(socket), serverBusy);
    }
  }

  #accept(socket: Socket): void {
    const transport = this.#transportOf(socket);
    const decision = this.#service.admit?.(transport);
    if (!isThenable(decision)) this.#connect(socket, transport, decision);
    else {
      // Nothing is read before the decision.
      socket.on("error", () => {});
      void decision.then((value) => {
        if (!socket.destroyed) this.#connect(socket, transport, value);
      });
    }
  }

  #transportOf(socket: Socket): Transport {
    const { tls, path } = this.#options;
    return {
      kind: path !== undefined ? "unix" : tls !== undefined ? "tls" : "tcp",
      headers: {},
      remoteAddress: socket.remoteAddress,
      remotePort: socket.remotePort,
      certificate: peerCertificate(socket),
    };
  }

  #connect(socket: Socket, transport: Transport, decision: Decision): void {
    const { limits, running } = this.#service;
    const { writeTimeoutMs } = this.#options;
    const stream = socketStream(socket, { writeTimeoutMs, buffers: running.buffers });
    const channel = new StreamChannel(stream, {
      framing: this.#framing,
      maxMessageBytes: limits.maxMessageBytes,
      cutOversize: true,
      holdAboveBytes: limits.maxBufferedBytes / 4,
      arrivalTimeoutMs: this.#options.arrivalTimeoutMs ?? 30_000,
    });
    const connection = new Connection(channel, {
      service: this.#service,
      transport,
      log: this.#log,
      decision: { value: decision },
    });
    // Refused, and about to be closed.
    if (!connection.isOpen) return;
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    closeWhenIdle(connection, channel, this.#idleMs, this.#service.running.clock);
    this.#notifyListener(connection);
    if (this.#closing !== undefined) this.#late.push(connection.dismiss());
  }

  #notifyListener(connection: Connection): void {
    try {
      this.#options.onConnection?.(connection);
    } catch (thrown) {
      this.#log.error({ err: thrown }, "onConnection threw");
    }
  }
}

/** Windows named pipes are not files. */
function isPipe(path: string): boolean {
  return /^[\\/]{2}[.?][\\/]pipe[\\/]/i.test(path);
}
