/// <reference lib="esnext.disposable" preserve="true" />
import { Connection } from "../../connection/connection.ts";
import type { Service } from "../../protocol/service.ts";
import { type Port, PortChannel, transport } from "./port-channel.ts";

export interface ServePortOptions {
  /** How long running calls may take to finish on close. @default 10000 */
  readonly drainMs?: number | undefined;
}

export interface PortServer extends AsyncDisposable {
  /** The connection to the peer, to call it or to push to it. */
  readonly connection: Connection;
  /** Resolves when the port is closed by either side. */
  readonly closed: Promise<void>;
  /** Refuses new calls, lets running ones finish, then closes the port. */
  close(): Promise<void>;
}

/** The open ports of each service, without closed ones. */
const served = new WeakMap<Service, Set<PortServer>>();

/**
 * Serves a service over a port: `servePort(service, parentPort)` in a Node worker, `servePort(service, self)` in a
 * web worker; closing it then ends the worker.
 * @example
 * ```ts
 * import { parentPort } from "node:worker_threads";
 * import { servePort } from "callwire/worker";
 *
 * // In the module of the worker.
 * if (parentPort !== null) servePort(server, parentPort);
 * ```
 */
export function servePort(
  service: Service,
  port: Port,
  { drainMs }: ServePortOptions = {},
): PortServer {
  const connection = new Connection(new PortChannel(port), { service, transport });
  const servers = serversOf(service);
  const close = (): Promise<void> =>
    // If the service itself closes, it has drained already.
    connection.finish({ drainMs: service.answerer.draining ? 0 : drainMs });
  const closed = connection.closed.then(() => void servers.delete(server));
  const server: PortServer = { connection, closed, close, [Symbol.asyncDispose]: close };
  servers.add(server);
  return server;
}

function serversOf(service: Service): Set<PortServer> {
  const known = served.get(service);
  if (known !== undefined) return known;
  const servers = new Set<PortServer>();
  served.set(service, servers);
  service.onClose(() => Promise.all([...servers].map((server) => server.close())));
  return servers;
}
