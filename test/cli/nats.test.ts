import { connect, type NatsConnection } from "@nats-io/transport-node";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { serveNats } from "callwire/nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { methods } from "../../examples/quickstart/methods.ts";
import { describeWith } from "../services.ts";
import { type NatsServer, startNats } from "../transports/nats/nats-server.ts";
import { build, finish, start } from "./process.ts";

describeWith(["nats-server"], "addresses of NATS", () => {
  let nats: NatsServer;
  let connection: NatsConnection;
  let url: string;

  beforeAll(async () => {
    await build();
    nats = await startNats('authorization: { user: us, password: "p@ss" }');
    connection = await connect({ port: nats.port, user: "us", pass: "p@ss" });
    await serveNats(createServer(methods), connection, { subject: "shop.rpc" });
    url = `nats://us:p%40ss@127.0.0.1:${nats.port}/shop.rpc`;
  }, 60_000);
  afterAll(async () => {
    await connection.close();
    await nats.stop();
  });

  test("a call, a stream and a description go through", async () => {
    expect((await finish(["call", url, "math/add", "a=2", "b=3"])).stdout).toBe("5\n");
    const streamed = await finish(["stream", url, "math/count", "to=2"]);
    expect(streamed.stdout.trim().split("\n")).toEqual(["0", "1", "2"]);
    expect((await finish(["discover", url])).stdout).toContain("math/add");
  });

  test("what is wrong is said", async () => {
    const without = await finish(["call", "nats://127.0.0.1", "math/add"]);
    expect(without).toMatchObject({ code: 2 });
    expect(without.stderr).toContain("the subject is missing");
    const nobody = await finish(["call", url.replace("shop.rpc", "other"), "math/add", "2", "3"]);
    expect(nobody.code).not.toBe(0);
    expect(nobody.stderr).toContain(
      "no worker listens under the subject other, so nobody can take",
    );
    const refused = await finish(["call", "nats://127.0.0.1:1/rpc", "math/add"]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("cannot connect to nats://127.0.0.1:1");
  });

  test("a gateway brings HTTP to NATS", async () => {
    await using gateway = start(["gateway", "--to", url, "--port", "0"]);
    const [front = ""] = await gateway.shown(/http:\/\/127\.0\.0\.1:\d+/);
    const client = createClient<typeof methods>(httpLink(`${front}/rpc`));
    expect(await client.api.math.add({ a: 2, b: 3 })).toBe(5);
    await client.close();
  });
});
