import { createClient } from "callwire";
import { natsLink } from "callwire/nats";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { Engine } from "./engine.ts";

describeWith(["nats-server"], "a connection to NATS that was closed for good", () => {
  test("is said to be closed, and not to be away at the moment", async () => {
    const engine = await Engine.start();
    const connection = await engine.connect({ reconnect: false });
    const client = createClient(natsLink(connection, { subject: "test" }));
    await engine.nats.kill();
    await connection.closed();
    for (let i = 0; i < 2; i++) {
      await expect(client.call("echo")).rejects.toMatchObject({
        code: "CONNECTION_FAILED",
        message: "the connection to NATS is closed",
      });
    }
  });
});
