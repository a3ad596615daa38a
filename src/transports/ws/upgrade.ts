import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { Connection } from "../../connection/connection.ts";
import type { Decision } from "../../connection/connection-admission.ts";
import type { HeartbeatOptions } from "../../connection/heartbeat.ts";
import { hasManyHeaders } from "../../http/pipeline.ts";
import { defaultWriteTimeoutMs } from "../../protocol/defaults.ts";
import { HostCheck } from "../../protocol/host-check.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { Transport } from "../../protocol/origin.ts";
import type { Service } from "../../protocol/service.ts";
import { ConnectionCounts, type ConnectionLimits } from "../../streams/connection-counts.ts";
import { peerCertificate } from "../../streams/peer-certificate.ts";
import type { ClosingSocket, Upgrader } from "./closing-socket.ts";
import { NodeChannel } from "./node-channel.ts";
import { OpenConnections } from "./open-connections.ts";
import { receiverSettings } from "./receiver-settings.ts";
import { type AdmissionOptions, admit, full, isRefused, type Refused } from "./upgrade-check.ts";

export interface WsUpgradeOptions
  extends AdmissionOptions<IncomingMessage>,
    ConnectionLimits,
    HeartbeatOptions {
  /**
   * The path of WebSockets. Upgrades of other paths are left to the other `upgrade` listeners of the HTTP server, and
   * refused with 404 if there are none. @default every path
   */
  readonly path?: string;
  /**
   * Compresses messages of at least 1,024 characters for clients that offer `permessage-deflate`, as browsers do. Each of
   * them keeps the memory of an inflater. A method with `compress: false` turns it off for its connection. @default false
   */
  readonly compress?: boolean;
  /** How long to wait for a client that does not read; stops replies from filling memory. @default 10000 */
  readonly writeTimeoutMs?: number;
}

/** Handles upgrade requests: `http.on("upgrade", wsUpgrade(server))`. */
export interface UpgradeHandler {
  (request: IncomingMessage, socket: Duplex, head: Buffer): void;
  /** Refuses new connections, lets the calls of open ones finish, then closes them. */
  close(options?: { readonly drainMs?: number | undefined }): Promise<void>;
}

/**
 * Serves a service over the WebSockets of a `node:http` server.
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { nodeHandler } from "callwire/http/node";
 * import { wsUpgrade } from "callwire/ws/node";
 *
 * const http = createServer(nodeHandler(server));
 * http.on("upgrade", wsUpgrade(server, { path: "/rpc" }));
 * http.listen(8000, "127.0.0.1");
 * ```
 */
export function wsUpgrade(service: Service, options: WsUpgradeOptions = {}): UpgradeHandler {
  const { path } = options;
  if (path !== undefined && !path.startsWith("/")) {
    throw new TypeError(`"path" must begin with a slash, not "${path}"`);
  }
  const counts = new ConnectionCounts(options, service.log, service.running.clock);
  const writeTimeoutMs = limitOf("writeTimeoutMs", options.writeTimeoutMs, defaultWriteTimeoutMs);
  const connections = new OpenConnections(service);
  const access = new HostCheck(service, options);
  const settings = receiverSettings(service.limits.maxMessageBytes, options.compress);
  let sockets: Upgrader | undefined;

  const connect = (
    ws: ClosingSocket,
    socket: Duplex,
    transport: Transport,
    value: Decision,
  ): Connection => {
    const channel = new NodeChannel(ws, socket, {
      side: "server",
      heartbeat: options,
      holdAboveBytes: service.limits.maxBufferedBytes / 4,
      writeTimeoutMs,
      buffers: service.running.buffers,
    });
    const connection = new Connection(channel, {
      service,
      transport,
      decision: { value },
    });
    channel.origin = connection.origin;
    return connection;
  };

  const upgrade = async (request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> => {
    if (path !== undefined && pathOf(request) !== path) {
      if (isOnlyListener(socket)) refuse(socket, elsewhere);
      return;
    }
    // The client may disconnect at any moment, and until the upgrade there is no other error listener.
    socket.on("error", () => socket.destroy());
    if (connections.closing || !counts.take(socket)) {
      refuse(socket, full);
      return;
    }
    // They would be kept as long as the connection, and Node keeps up to a thousand.
    if (hasManyHeaders(request)) {
      refuse(socket, tooManyHeaders);
      return;
    }
    const transport = transportOf(request);
    const decision = await admit(service, access, options, request, transport);
    if (sockets === undefined) {
      const { Upgrader } = await import("./closing-socket.ts");
      sockets ??= new Upgrader(settings);
    }
    if (socket.destroyed) return;
    if (isRefused(decision)) refuse(socket, decision);
    // The shutdown may have begun meanwhile.
    else if (connections.closing) refuse(socket, full);
    else {
      const value = "error" in decision ? decision.error : decision.principal;
      sockets.handleUpgrade(request, socket, head, (ws) => {
        connections.add(connect(ws, socket, transport, value));
      });
    }
  };
  return Object.assign(upgrade, {
    close: (finishing = {}) => connections.finish(finishing),
  } satisfies Pick<UpgradeHandler, "close">);
}

const tooManyHeaders: Refused = { status: 431, message: "Too many headers" };
const elsewhere: Refused = { status: 404, message: "there is no WebSocket at this path" };

function pathOf({ url = "" }: IncomingMessage): string {
  return url.replace(/[?#].*/s, "");
}

function isOnlyListener(socket: Duplex): boolean {
  const { server } = socket as { server?: { listenerCount(event: string): number } };
  return (server?.listenerCount("upgrade") ?? 1) < 2;
}

function transportOf({ headers, socket }: IncomingMessage): Transport {
  const { remoteAddress, remotePort } = socket;
  const certificate = peerCertificate(socket);
  return { kind: "websocket", headers, remoteAddress, remotePort, certificate };
}

function refuse(socket: Duplex, { status, message, headers }: Refused): void {
  const lines = Object.entries({
    connection: "close",
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(message),
    ...headers,
    // A value made of what a caller sent must not add a header.
  }).map(([name, value]) => `${name}: ${`${value}`.replace(/[\r\n]/g, " ")}\r\n`);
  socket.once("finish", () => socket.destroy());
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${message}`);
}
