import { connect } from "node:net";
import { connect as connectNats, type NatsConnection } from "@nats-io/transport-node";
import type { Link, Server, Service } from "callwire";
import { silentLog } from "callwire";
import { newlineFraming } from "callwire/framing";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink, serveNats } from "callwire/nats";
import { connectSocket, serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { afterAll, beforeAll } from "vitest";
import { optionsOf } from "../conformance/profiles.ts";
import { describeWith } from "../services.ts";
import {
  describeTransport,
  type Fixture,
  type Host,
  rawStream,
  serverOf,
  startProxy,
} from "../transports/contract.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";

type Upstream = (server: Server) => Promise<(service?: Service) => Link>;

/** Lost for good when it is lost, so that a dead server does not look like a slow one. */
const reconnect = false;

const duplex: Readonly<Record<string, Upstream>> = {
  async TCP(server) {
    const { port = 0 } = await serveSocket(server, { port: 0 });
    return (service) => tcpLink({ port, reconnect, ...(service && { service }) });
  },
  async WebSocket(server) {
    const { url } = await serveHttp(server, { port: 0 });
    return (service) => webSocketLink(url, { reconnect, ...(service && { service }) });
  },
};

const http: Upstream = async (server) => {
  const { url } = await serveHttp(server, { port: 0 });
  return () => httpLink(url);
};

async function start(fixture: Fixture, serve: Upstream): Promise<Host> {
  const { limits } = serverOf(fixture);
  // A message that goes on may be longer by its new id and its time-out.
  const maxMessageBytes = limits.maxMessageBytes + 256;
  const server = serverOf({ ...fixture, limits: { ...limits, maxMessageBytes } });
  const target = await serve(server);
  const options = fixture.profile === "contract" ? {} : optionsOf(fixture.profile);
  const version = options.versions?.includes("2.0") === false ? "1.0" : "2.0";
  const gateway = await createGateway(
    {
      upstreams: {
        behind: { targets: { target }, per: "connection", version, healthCheck: false },
      },
      routes: [{ method: "*", to: "behind" }],
    },
    { log: silentLog, ...options, limits },
  );
  const socket = await serveSocket(gateway, { port: 0 });
  const proxies: Awaited<ReturnType<typeof startProxy>>[] = [];
  const proxied = async () => {
    const proxy = await startProxy({ port: socket.port as number });
    proxies.push(proxy);
    return proxy;
  };
  return {
    async connect(service) {
      const proxy = await proxied();
      const link = await connectSocket({ port: proxy.port, service });
      return { link, kill: () => proxy.close() };
    },
    async raw() {
      const { port } = await proxied();
      return rawStream(connect(port, "127.0.0.1"), newlineFraming);
    },
    async close() {
      await Promise.all([gateway.close(), server.close()]);
    },
    async kill() {
      for (const proxy of proxies) proxy.close();
      await gateway.close({ drainMs: 0 });
      await server.close({ drainMs: 0 });
    },
  };
}

const front = {
  oversize: "cut",
  bytes: true,
  except: ["An empty text is a parse error"],
} as const;

for (const [name, serve] of Object.entries(duplex)) {
  describeTransport(`a gateway from TCP to ${name}`, {
    ...front,
    start: (fixture) => start(fixture, serve),
  });
}

describeTransport("a gateway from TCP to HTTP", {
  ...front,
  duplex: false,
  streams: "buffers",
  inFlight: 200,
  start: (fixture) => start(fixture, http),
});

describeWith(["nats-server"], "with a server of NATS", () => {
  let nats: NatsServer;
  let subjects = 0;
  const connections: NatsConnection[] = [];
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await nats.stop();
  });

  describeTransport("a gateway from TCP to NATS", {
    ...front,
    start: (fixture) =>
      start(fixture, async (server) => {
        const own = { subject: `behind.s${++subjects}`, aliveMs: 100 };
        const [worker, caller] = await Promise.all(
          [1, 2].map(() => connectNats({ port: nats.port })),
        );
        connections.push(worker as NatsConnection, caller as NatsConnection);
        await serveNats(server, worker as NatsConnection, own);
        return (service) => natsLink(caller as NatsConnection, { ...own, service });
      }),
  });
});
