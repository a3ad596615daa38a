import type { Link, Server, Service } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { serverOf } from "../transports/contract-methods.ts";
import type { StartBackend } from "./chain.ts";

type Serve = (server: Server) => Promise<(service?: Service) => Link>;

/** Does not reconnect, so that a dead server does not look like a slow one. */
export const reconnect = false;

/** A server that runs beside the gateway. */
export function inThisProcess(serve: Serve): StartBackend {
  return async (fixture) => {
    const server = serverOf(fixture);
    return { connect: await serve(server), close: (options) => server.close(options) };
  };
}

export const tcpBackend: StartBackend = inThisProcess(async (server) => {
  const { port = 0 } = await serveSocket(server, { port: 0 });
  return (service) => tcpLink({ port, reconnect, service });
});
