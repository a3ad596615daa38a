/// <reference lib="esnext.disposable" preserve="true" />
import { Connection } from "../../connection/connection.ts";
import type { Service } from "../../protocol/service.ts";
import { transport } from "./origin.ts";
import type { Port } from "./port.ts";
import { PortChannel } from "./port-channel.ts";

export interface ServePortOptions {
  /** How long running calls may take to finish when this closes. @default 10000 */
  readonly drainMs?: number | undefined;
}

export interface PortServer extends AsyncDisposable {
  /** The one peer, to call it or to push to it. */
  readonly connection: Connection;
  /** Resolves when the port is closed or its other end is gone. */
  readonly closed: Promise<void>;
  /** Takes no more calls, lets what runs finish, then closes the port. */
  close(): Promise<void>;
}

/** The open ports of each service; a service that serves many of them in turn keeps none that is gone. */
const served = new WeakMap<Service, Set<PortServer>>();

/**
 * Serves a service over a port. In a worker that is `servePort(service, parentPort)` in Node and
 * `servePort(service, self)` in a browser; closing it then ends the worker.
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
    // Where the service itself closes, it has waited before.
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
