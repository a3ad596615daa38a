/** CVE-2026-25536: clients that use the same ids get each other's replies. */
import { createClient, createServer, method, silentLog } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import { serveSocket } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { RawSocket } from "../../transports/tcp/raw-socket.ts";

const clients = 200;

/** Replies come in another order than calls, and each holds its caller's secret. */
function echoing() {
  let turn = 0;
  const secret = method({}, async (params, call) => {
    const wait = (turn++ * 7) % 5;
    for (let i = 0; i < wait; i++) await new Promise((resolve) => setImmediate(resolve));
    return [call.principal?.id ?? null, params];
  });
  const holder = bearer((token) => ({ id: token }));
  const use = [authenticate(holder, { anonymous: true })];
  const server = createServer({ secret }, { use, log: silentLog });
  onTestFinished(() => server.close());
  return server;
}

/** Each on a socket of its own, and all of them with the id 1. */
async function everybodyGetsTheirOwn(port: number): Promise<void> {
  const lines = await Promise.all(
    Array.from({ length: clients }, (_, i) =>
      new RawSocket({ port })
        .send(`{"jsonrpc":"2.0","method":"secret","params":["mine ${i}"],"id":1}\n`)
        .lines(1),
    ),
  );
  expect(lines.flat()).toEqual(
    Array.from(
      { length: clients },
      (_, i) => `{"jsonrpc":"2.0","result":[null,["mine ${i}"]],"id":1}`,
    ),
  );
}

test.each(["http", "ws"] as const)(
  "200 clients over %s with the same ids each get their own",
  async (wire) => {
    const { url } = await serveHttp(echoing(), { port: 0 });
    const answers = await Promise.all(
      Array.from({ length: clients }, async (_, i) => {
        const headers = { authorization: `Bearer client-${i}` };
        // That many handshakes at once may take long.
        const patient = { headers, connectTimeoutMs: 50_000 };
        const link = wire === "http" ? httpLink(url, { headers }) : webSocketLink(url, patient);
        await using client = createClient(link);
        return await Promise.all([
          client.call("secret", [i, "a"]),
          client.call("secret", [i, "b"]),
        ]);
      }),
    );
    for (const [i, own] of answers.entries()) {
      const name = `client-${i}`;
      expect(own).toEqual([
        [name, [i, "a"]],
        [name, [i, "b"]],
      ]);
    }
  },
);

test("so do 200 clients over TCP that all say id 1", async () => {
  const { port = 0 } = await serveSocket(echoing(), { port: 0 });
  await everybodyGetsTheirOwn(port);
});

test("so do 200 clients that reach it through a gateway over one connection", async () => {
  const { url } = await serveHttp(echoing(), { port: 0 });
  const gateway = await createGateway(
    {
      upstreams: { all: { targets: { one: () => webSocketLink(url) } } },
      routes: [{ method: "*", to: "all" }],
    },
    { log: silentLog },
  );
  onTestFinished(() => gateway.close());
  const { port = 0 } = await serveSocket(gateway, { port: 0 });
  await everybodyGetsTheirOwn(port);
});
