import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createClient, createServer, type Methods, silentLog } from "callwire";
import { type ServeSocketOptions, serveSocket, tcpLink } from "callwire/tcp";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { deferred } from "../contract/wire.ts";
import { RawSocket } from "./raw-socket.ts";

const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
const farewell = { error: { code: -32006 }, id: null };
const turn = () => new Promise((resolve) => setImmediate(resolve));

async function serve(methods: Methods, options: Partial<ServeSocketOptions> = {}) {
  const clock = new FakeClock();
  const server = createServer(methods, { log: silentLog, clock });
  const socket = await serveSocket(server, { port: 0, ...options });
  onTestFinished(() => socket.close());
  const { connections } = socket;
  return { clock, connections, port: socket.port as number };
}

const methods = { echo: (value: unknown) => value };

describe("a caller for whom there is no connection left", () => {
  test.each([{ maxConnections: 1 }, { maxConnectionsPerAddress: 1 }])(
    "learns that the server is busy, and its call does not run: %o",
    async (limits) => {
      let ran = 0;
      const { port, connections } = await serve({ count: () => ++ran }, limits);
      const first = new RawSocket({ port });
      while (connections.size === 0) await turn();
      await using client = createClient(tcpLink({ port, reconnect: false }));
      await expect(client.call("count")).rejects.toMatchObject({ code: -32005 });
      expect(ran).toBe(0);
      expect(connections.size).toBe(1);
      first.socket.destroy();
      while (connections.size > 0) await turn();
      await using next = createClient(tcpLink({ port }));
      expect(await next.call("count")).toBe(1);
    },
  );

  test("is dropped while 100 others are being refused, or one address could keep out all others", async () => {
    // Clients that get the answer stay until they close.
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { port, connections } = await serve(methods, { maxConnectionsPerAddress: 1 });
    const first = new RawSocket({ port });
    while (connections.size === 0) await turn();
    const crowd = Array.from({ length: 101 }, () => connect({ port, allowHalfOpen: true }));
    const told = await Promise.all(
      crowd.map((socket) => {
        const dropped = new Promise<boolean>((resolve) => {
          for (const event of ["end", "error"]) socket.once(event, () => resolve(false));
        });
        return Promise.race([
          once(socket, "data").then(
            () => true,
            () => dropped,
          ),
          dropped,
        ]);
      }),
    );
    expect(told.filter(Boolean).length).toBe(100);
    for (const socket of [first.socket, ...crowd]) socket.destroy();
    while (connections.size > 0) await turn();
    vi.runOnlyPendingTimers();
    vi.useRealTimers();
  });

  test("cannot connect where the wire is TLS", async () => {
    const fixture = (name: string): string =>
      readFileSync(new URL(`../../fixtures/tls/test-only-${name}.pem`, import.meta.url), "utf8");
    const tls = { key: fixture("key"), cert: fixture("cert") };
    const { port } = await serve(methods, { maxConnections: 1, tls });
    await using first = createClient(tcpLink({ port, tls: { ca: tls.cert } }));
    expect(await first.call("echo", [1])).toBe(1);
    await using client = createClient(tcpLink({ port, tls: { ca: tls.cert }, reconnect: false }));
    await expect(client.call("echo", [1])).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
  });
});

describe("a connection without calls", () => {
  test("is closed soon if its peer never says anything", async () => {
    const { clock, connections, port } = await serve(methods);
    const silent = new RawSocket({ port });
    while (connections.size === 0) await turn();
    clock.advance(44_999);
    await turn();
    expect(connections.size).toBe(1);
    clock.advance(1);
    expect(JSON.parse(await silent.closed)).toMatchObject(farewell);
  });

  test("is closed soon if its peer sends only what cannot be read", async () => {
    const { clock, port } = await serve(methods);
    const garbage = new RawSocket({ port }).send("what is this\n");
    await garbage.lines(1);
    clock.advance(45_000);
    const [, last = ""] = (await garbage.closed).split("\n");
    expect(JSON.parse(last)).toMatchObject(farewell);
  });

  test("stays for long if its peer has called, and as long as it continues calling", async () => {
    const { clock, connections, port } = await serve(methods, { idleTimeoutMs: 600_000 });
    const peer = new RawSocket({ port });
    for (let calls = 1; calls <= 3; calls++) {
      await peer.send(`${echo}\n`).lines(calls);
      clock.advance(599_999);
    }
    expect(connections.size).toBe(1);
    clock.advance(600_000);
    const last = (await peer.closed).trim().split("\n").at(-1) ?? "";
    expect(JSON.parse(last)).toMatchObject(farewell);
  });

  test("stays for as long as a call of its peer runs", async () => {
    const begun = deferred();
    const gate = deferred<string>();
    const wait = () => {
      begun.resolve();
      return gate.promise;
    };
    const { clock, connections, port } = await serve({ wait }, { idleTimeoutMs: 10_000 });
    const peer = new RawSocket({ port }).send('{"jsonrpc":"2.0","method":"wait","id":1}\n');
    await begun.promise;
    // The call itself has 60 seconds.
    clock.advance(59_000);
    expect(connections.size).toBe(1);
    gate.resolve("done");
    expect(await peer.lines(1)).toEqual(['{"jsonrpc":"2.0","result":"done","id":1}']);
  });

  test("stays forever if it may", async () => {
    const { clock, connections, port } = await serve(methods, {
      idleTimeoutMs: Number.POSITIVE_INFINITY,
    });
    new RawSocket({ port });
    while (connections.size === 0) await turn();
    clock.advance(1e9);
    await turn();
    expect([...connections][0]?.isOpen).toBe(true);
  });
});
