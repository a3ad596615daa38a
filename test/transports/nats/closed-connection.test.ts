import { createClient, createServer } from "callwire";
import { natsLink, serveNats } from "callwire/nats";
import { expect, onTestFinished, test } from "vitest";
import { describeWith } from "../../services.ts";
import { startNats } from "./nats-server.ts";
import { TestNats } from "./test-nats.ts";

describeWith(["nats-server"], "a connection to NATS that was closed for good", () => {
  test("is reported as closed, not as down for the moment", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect({ reconnect: false });
    const client = createClient(natsLink(connection, { subject: "test" }));
    await testNats.nats.kill();
    await connection.closed();
    for (let i = 0; i < 2; i++) {
      await expect(client.call("echo")).rejects.toMatchObject({
        code: "CONNECTION_FAILED",
        message: "the connection to NATS is closed",
      });
    }
  });
});

describeWith(["nats-server"], "a connection to NATS that is being reopened", () => {
  test("is known to be down also by a new link", async () => {
    const testNats = await TestNats.start();
    const connection = await testNats.connect({ maxReconnectAttempts: -1, reconnectTimeWait: 20 });
    const told = connection.status()[Symbol.asyncIterator]();
    await testNats.nats.kill();
    while ((await told.next()).value?.type !== "disconnect");
    const client = createClient(natsLink(connection, { subject: "test" }));
    await expect(client.call("echo")).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
      message: "there is no connection to NATS at the moment",
    });
    const again = await startNats("", { port: testNats.nats.port });
    onTestFinished(() => again.stop());
    while ((await told.next()).value?.type !== "reconnect");
    await serveNats(createServer({ echo: () => "here" }), connection, { subject: "test" });
    expect(await client.call("echo")).toBe("here");
  });
});
