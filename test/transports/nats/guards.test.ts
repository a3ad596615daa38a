/** Guards of several servers that keep their state in buckets of NATS. */
import { request } from "node:http";
import { Kvm } from "@nats-io/kv";
import { createClient, createServer, ErrorCode, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { natsLink } from "callwire/nats";
import { idempotency, natsLimits, natsNonces } from "callwire/nats/kv";
import { authenticate, rateLimit } from "callwire/security";
import { createSigningKey, httpSigner, signedRequests } from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { ann, byToken, counted, root } from "../../security/serving.ts";
import { describeWith } from "../../services.ts";
import { TestNats } from "./test-nats.ts";

const subject = "test";
const withBuckets = 'jetstream: { store_dir: "$FOLDER" }';

describeWith(["nats-server"], "guards that share buckets of NATS", () => {
  test("a rate limit holds for all workers together, and for each caller alone", async () => {
    const testNats = await TestNats.start(withBuckets);
    const clock = new FakeClock();
    const costs = { echo: 2 };
    // With the machine's clock, a nats-server that is busy for a second would count as one that
    // hangs.
    const limit = { by: "principal", capacity: 30, perSecond: 1, costs, clock } as const;
    const counts = [counted(), counted()];
    for (const { methods } of counts) {
      const store = natsLimits(await new Kvm(await testNats.connect()).create("limits"), { clock });
      const use = [authenticate(byToken), rateLimit({ ...limit, store })];
      await testNats.serve(methods, { server: { use } });
    }
    const connection = await testNats.connect();
    const [anns, roots] = [ann, root].map((headers) =>
      createClient(natsLink(connection, { subject, headers })),
    );
    const outcomes: PromiseSettledResult<unknown>[] = [];
    for (let round = 0; round < 4; round++) {
      const calls = Array.from({ length: 9 }, () => anns?.call("who"));
      outcomes.push(...(await Promise.allSettled(calls)));
    }
    const refused = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toHaveLength(6);
    for (const outcome of refused) {
      expect(outcome).toMatchObject({ reason: { code: ErrorCode.RateLimited } });
    }
    expect(counts.map(({ calls }) => calls).reduce((a, b) => a + b)).toBe(30);
    expect(Math.min(...counts.map(({ calls }) => calls))).toBeGreaterThan(0);
    expect(await roots?.call("echo", [1])).toBe(1);
    clock.advance(2_000);
    expect(await anns?.call("echo", [2])).toBe(2);
    await expect(anns?.call("who")).rejects.toMatchObject({ data: { retryAfterMs: 1_000 } });
  });

  test("while NATS is down, each process limits on its own", async () => {
    const testNats = await TestNats.start(withBuckets);
    const connection = await testNats.connect({ reconnect: false });
    const store = natsLimits(await new Kvm(connection).create("limits"));
    const { methods } = counted();
    const use = [rateLimit({ capacity: 2, perSecond: 0.001, store, clock: new FakeClock() })];
    const server = createServer(methods, { log: silentLog, use });
    onTestFinished(() => server.close());
    const { url } = await serveHttp(server, { port: 0 });
    const client = createClient(httpLink(url));
    expect(await client.call("echo", [1])).toBe(1);
    await testNats.nats.kill();
    await connection.closed();
    expect(await client.call("echo", [2])).toBe(2);
    expect(await client.call("echo", [3])).toBe(3);
    await expect(client.call("echo", [4])).rejects.toMatchObject({ code: ErrorCode.RateLimited });
  });

  test("a repeated message is refused, and a repeated call gets the first answer", async () => {
    const testNats = await TestNats.start(withBuckets);
    const { signer: key } = createSigningKey();
    const ports: number[] = [];
    let runs = 0;
    for (let i = 0; i < 2; i++) {
      const buckets = new Kvm(await testNats.connect());
      const nonces = natsNonces(await buckets.create("nonces", { ttl: 125_000 }));
      const use = [
        authenticate(signedRequests({ keys: [key], nonces })),
        idempotency(await buckets.create("answers")),
      ];
      const server = createServer({ pay: (amount: number) => ({ amount, run: ++runs }) }, { use });
      onTestFinished(() => server.close());
      ports.push((await serveHttp(server, { port: 0, hosts: ["api.example"] })).port);
    }
    const sent: Sent[] = [];
    const clients = ports.map((port) =>
      createClient(
        httpLink("http://api.example/rpc", {
          signer: httpSigner({ key }),
          fetch: (_, init) => {
            sent.push(init as Sent);
            return post(port, init as Sent);
          },
        }),
      ),
    );
    const headers = { "idempotency-key": "cart 7" };
    const first = await clients[0]?.call("pay", [5], { headers });
    expect(first).toEqual({ amount: 5, run: 1 });
    // The caller signs again, so this is another message with the same key.
    expect(await clients[1]?.call("pay", [5], { headers })).toEqual(first);
    // An attacker who saw the message sends its bytes again.
    for (const port of ports) {
      const { status } = await post(port, sent[0] as Sent);
      expect(status).toBe(401);
    }
    expect(runs).toBe(1);
  });
});

interface Sent {
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** Both servers have the same name. */
function post(port: number, { headers, body }: Sent): Promise<Response> {
  return new Promise((resolve, reject) => {
    const all = { ...headers, host: "api.example" };
    request({ port, path: "/rpc", method: "POST", headers: all }, async (response) => {
      const chunks: Buffer[] = await response.toArray();
      const { statusCode: status = 0, headers } = response;
      const type = headers["content-type"] ?? "";
      resolve(new Response(Buffer.concat(chunks), { status, headers: { "content-type": type } }));
    })
      .on("error", reject)
      .end(body);
  });
}
