import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll } from "vitest";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { bundle } from "../transports/bundle.ts";
import { describeTransport, type Wire } from "../transports/contract.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { tcpFront } from "../transports/tcp/front.ts";
import {
  httpBackend,
  natsBackend,
  portBackend,
  sseBackend,
  stdioBackend,
  unixBackend,
  webSocketBackend,
} from "./backends.ts";
import { type StartBackend, serveChain } from "./chain.ts";
import { tcpBackend } from "./tcp-backend.ts";

/** Capabilities that a wire between gateway and target lacks, whatever wire is in front. */
type Traits = Partial<Omit<Wire, "start">>;

function describeBackend(name: string, start: StartBackend, traits: Traits = {}): void {
  const front = tcpFront();
  const wire: Wire = {
    ...front,
    ...(isFull ? undefined : { inFlight: 200 }),
    ...traits,
    hops: 2,
    start: (fixture) => serveChain(front, fixture, start),
  };
  // All of them read incoming messages with the same wire.
  const isFirst = start === tcpBackend;
  describeTransport(`a gateway from TCP to ${name}`, wire, {
    transcripts: isFirst,
    faults: isFirst,
  });
}

const oneWay: Traits = { duplex: false, streams: "buffers", inFlight: 200, uploads: "none" };

describeBackend("TCP", tcpBackend);
describeBackend("HTTP", httpBackend, { ...oneWay, uploads: "buffers" });
if (isFull) {
  // For a gateway, these are like TCP and like HTTP.
  describeBackend("WebSocket", webSocketBackend);
  describeBackend("server-sent events", sseBackend, oneWay);
  describeBackend("a unix socket", unixBackend);
  describeBackend("a message port", portBackend);
  // Starts a process for each test.
  const server = bundle(
    new URL("../transports/stdio/fixtures/contract-server.ts", import.meta.url),
  );
  describeBackend("stdio", stdioBackend(server), { shared: false });
}

describeWith(["nats-server"], "with a server of NATS", () => {
  let nats: NatsServer;
  const connections: NatsConnection[] = [];
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(async () => {
    await Promise.all(connections.map((connection) => connection.close()));
    await nats.stop();
  });

  const keep = (connection: NatsConnection): void => void connections.push(connection);
  describeBackend(
    "NATS",
    natsBackend(() => nats, keep),
  );
});
