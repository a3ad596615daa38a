/** The wires between a gateway and its targets. */
import { MessageChannel } from "node:worker_threads";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import type { Link } from "callwire";
import { reconnecting } from "callwire/connection";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink, serveNats } from "callwire/nats";
import { sseLink } from "callwire/sse";
import { spawnConnection } from "callwire/stdio";
import { serveSocket, unixLink } from "callwire/tcp";
import { portLink, servePort } from "callwire/worker";
import { webSocketLink } from "callwire/ws";
import { startProxy } from "../transports/contract/proxy.ts";
import { serverOf } from "../transports/contract-methods.ts";
import type { NatsServer } from "../transports/nats/nats-server.ts";
import { NatsTime } from "../transports/nats/nats-time.ts";
import { Children, pidOnStderr } from "../transports/stdio/children.ts";
import { freePath } from "../transports/tcp/free-path.ts";
import type { StartBackend } from "./chain.ts";
import { inThisProcess, reconnect } from "./tcp-backend.ts";

export const unixBackend: StartBackend = inThisProcess(async (server) => {
  const path = freePath();
  await serveSocket(server, { path });
  return (service) => unixLink(path, { reconnect, service });
});

export const webSocketBackend: StartBackend = inThisProcess(async (server) => {
  const { url } = await serveHttp(server, { port: 0 });
  return (service) => webSocketLink(url, { reconnect, service });
});

export const portBackend: StartBackend = inThisProcess(async (server) => (service) => {
  const { port1, port2 } = new MessageChannel();
  servePort(server, port1);
  return portLink(port2, { service });
});

export const httpBackend: StartBackend = overHttp(httpLink);

export const sseBackend: StartBackend = overHttp((url) => sseLink(url, { maxResumes: 0 }));

function overHttp(linkTo: (url: string) => Link): StartBackend {
  return async (fixture) => {
    const server = serverOf(fixture);
    const http = await serveHttp(server, { port: 0, graceMs: 20 });
    const proxy = await startProxy({ port: http.port });
    return {
      connect: () => linkTo(`http://127.0.0.1:${proxy.port}/rpc`),
      async close(options) {
        // A server would wait a second for requests on connections that were opened in advance.
        if (options?.drainMs === 0) proxy.close();
        await server.close(options);
      },
    };
  };
}

/** A process for each caller, which serves the fixture of its first argument. */
export function stdioBackend(program: string): StartBackend {
  return async (fixture) => {
    const args = [program, JSON.stringify(fixture), "newline"];
    const children = new Children();
    return {
      described: false,
      connect: (service) =>
        reconnecting(async () => {
          const { pid, stderr } = pidOnStderr();
          const connection = await spawnConnection(process.execPath, args, { service, stderr });
          children.add(await pid, connection.closed);
          return connection;
        }, reconnect),
      close: (options) => children.signal(options?.drainMs === 0 ? "SIGKILL" : "SIGTERM"),
    };
  };
}

let subjects = 0;

/** `keep` gets the connections, which outlive links and workers. */
export function natsBackend(
  testNats: () => NatsServer,
  keep: (connection: NatsConnection) => void,
): StartBackend {
  const clock = new NatsTime(testNats);
  return inThisProcess(async (server) => {
    const connected = async (): Promise<NatsConnection> => {
      const connection = await connect({ port: testNats().port });
      keep(connection);
      return connection;
    };
    const own = { subject: `behind.s${++subjects}`, aliveMs: 100, clock };
    await serveNats(server, await connected(), own);
    const caller = await connected();
    return (service) => natsLink(caller, { ...own, service });
  });
}
