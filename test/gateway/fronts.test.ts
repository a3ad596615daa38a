import { afterAll, beforeAll } from "vitest";
import { isFull } from "../full.ts";
import { describeWith } from "../services.ts";
import { bundle } from "../transports/bundle.ts";
import { describeTransport, type Extent, type Front, type Wire } from "../transports/contract.ts";
import { httpFront } from "../transports/http/front.ts";
import { natsFront } from "../transports/nats/front.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { sseFront } from "../transports/sse/front.ts";
import { stdioWire } from "../transports/stdio/wire.ts";
import { unixFront } from "../transports/tcp/front.ts";
import { portFront } from "../transports/worker/front.ts";
import { wsFront } from "../transports/ws/front.ts";
import { serveChain } from "./chain.ts";
import { tcpBackend } from "./tcp-backend.ts";

/**
 * A wire in front of a gateway is the same as in front of a server, where garbage and transcripts
 * are tested.
 */
const extent: Extent = { transcripts: false, faults: false };
const traits = { hops: 2, beside: false, ...(isFull ? undefined : { inFlight: 200 }) };

function describeFront(name: string, front: Front): void {
  const start: Wire["start"] = (fixture) => serveChain(front, fixture, tcpBackend);
  describeTransport(`a gateway from ${name} to TCP`, { ...front, ...traits, start }, extent);
}

// The wire without connections, so that a gateway has to match replies itself.
describeFront("HTTP", httpFront());

if (isFull) {
  // For a gateway, these are like HTTP, and like TCP, which is in front of all wires in contract.test.ts.
  describeFront("WebSocket", wsFront);
  describeFront("server-sent events", sseFront);
  describeFront("a unix socket", unixFront);
  describeFront("a message port", portFront);
  // Starts a process for each test.
  const stdioGateway = stdioWire(bundle(new URL("./fixtures/stdio-gateway.ts", import.meta.url)));
  describeTransport("a gateway from stdio to TCP", { ...stdioGateway, ...traits }, extent);
}

describeWith(["nats-server"], "with a server of NATS", () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(() => nats.stop());

  describeFront(
    "NATS",
    natsFront(() => nats),
  );
});
