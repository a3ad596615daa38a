import { afterAll, beforeAll } from "vitest";
import { describeWith } from "../../services.ts";
import { describeTransport, serving } from "../contract.ts";
import { natsFront } from "./front.ts";
import { type NatsServer, startNats } from "./nats-server.ts";

describeWith(["nats-server"], "with a server of NATS", () => {
  let nats: NatsServer;
  beforeAll(async () => {
    nats = await startNats();
  });
  afterAll(() => nats.stop());

  describeTransport("NATS", serving(natsFront(() => nats)));
});
