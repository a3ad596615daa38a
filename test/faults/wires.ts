import { fileURLToPath } from "node:url";
import { connect } from "@nats-io/transport-node";
import { type Link, silentLog } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink } from "callwire/nats";
import { sseLink } from "callwire/sse";
import { stdioLink } from "callwire/stdio";
import { tcpLink, unixLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { onTestFinished } from "vitest";
import { ownPort } from "../own-port.ts";
import { freePath } from "../transports/tcp/free-path.ts";
import { Line } from "./line.ts";
import type { WireName } from "./matrix.ts";
import type { PeerProcess } from "./peer-process.ts";

const relay = fileURLToPath(new URL("./fixtures/relay.mjs", import.meta.url));
/** Dead connections are noticed soon, on wires that check for them. */
const heartbeat = { pingMs: 200, deadMs: 400 };

/** How a wire is reached: through a line that can be disturbed, or where nothing listens. */
export interface FaultyWire {
  line(peer: PeerProcess, nats: number | undefined): Promise<Line>;
  link(line: Line, peer: PeerProcess): Promise<Link> | Link;
  /** A link to nothing. */
  nowhere(nats: number | undefined): Promise<Link>;
}

const httpLine = (peer: PeerProcess) => kept(Line.open({ port: peer.ports.http }));
const tcpLine = (peer: PeerProcess) => kept(Line.open({ port: peer.ports.tcp }));

/** The paths of unix sockets, since these have no port. */
const paths = new WeakMap<Line, string>();

export const faultyWires: Readonly<Record<WireName, FaultyWire>> = {
  HTTP: {
    line: httpLine,
    link: ({ port }) => httpLink(`http://127.0.0.1:${port}/rpc`),
    nowhere: async () => httpLink(`http://127.0.0.1:${await ownPort()}/rpc`),
  },
  SSE: {
    line: httpLine,
    link: ({ port }) => sseLink(`http://127.0.0.1:${port}/rpc`, { maxResumes: 0 }),
    nowhere: async () => sseLink(`http://127.0.0.1:${await ownPort()}/rpc`),
  },
  WebSocket: {
    line: httpLine,
    link: ({ port }) => webSocketLink(`ws://127.0.0.1:${port}/rpc/ws`, { ...heartbeat }),
    nowhere: async () => webSocketLink(`ws://127.0.0.1:${await ownPort()}/rpc/ws`),
  },
  TCP: {
    line: tcpLine,
    link: ({ port }) => tcpLink({ port }),
    nowhere: async () => tcpLink({ port: await ownPort() }),
  },
  unix: {
    async line(peer) {
      const path = freePath();
      const line = await kept(Line.open({ path: peer.socketPath }, path));
      paths.set(line, path);
      return line;
    },
    link: (line) => unixLink(paths.get(line) ?? ""),
    nowhere: async () => unixLink(freePath()),
  },
  stdio: {
    line: (peer) => kept(Line.open({ port: peer.stdioPort })),
    link: ({ port }) => stdioLink(process.execPath, [relay, `${port}`], { stderr: "ignore" }),
    nowhere: async () => stdioLink("/nonexistent/program"),
  },
  NATS: {
    line: (_, nats) => kept(Line.open({ port: nats ?? 0 })),
    link: ({ port }, peer) => natsTo(port, peer.subject),
    nowhere: (nats) => natsTo(nats ?? 0, "faults-nobody"),
  },
  "gateway to TCP": {
    line: tcpLine,
    link: ({ port }) => through(() => tcpLink({ port, reconnect: { attempts: 0 } })),
    nowhere: async () => {
      const port = await ownPort();
      return through(() => tcpLink({ port, reconnect: { attempts: 0 } }));
    },
  },
  "gateway to HTTP": {
    line: httpLine,
    link: ({ port }) => through(() => httpLink(`http://127.0.0.1:${port}/rpc`)),
    nowhere: async () => {
      const port = await ownPort();
      return through(() => httpLink(`http://127.0.0.1:${port}/rpc`));
    },
  },
};

async function kept(opening: Promise<Line>): Promise<Line> {
  const line = await opening;
  onTestFinished(() => line.close());
  return line;
}

async function natsTo(port: number, subject: string): Promise<Link> {
  const reconnects = { reconnectTimeWait: 20, maxReconnectAttempts: -1 };
  // By default NATS's client takes minutes to notice that its connection is dead.
  const pings = { pingInterval: 200, maxPingOut: 2 };
  const connection = await connect({ port, ...reconnects, ...pings });
  onTestFinished(() => connection.close());
  return natsLink(connection, { subject, aliveMs: 100 });
}

/** A link to a gateway that forwards everything to the target. */
async function through(target: () => Link): Promise<Link> {
  const gateway = await createGateway(
    {
      upstreams: { peer: { targets: { one: target }, healthCheck: false } },
      routes: [{ method: "*", to: "peer" }],
    },
    { discover: false, log: silentLog },
  );
  const http = await serveHttp(gateway, { port: 0 });
  onTestFinished(() => gateway.close({ drainMs: 0 }));
  return httpLink(http.url);
}
