import { createServer as createNetServer } from "node:net";
import { createClient, createServer, method, type Server, silentLog } from "callwire";
import { connectSocket, serveSocket, tcpLink } from "callwire/tcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { hasIpv6 } from "../../ip-versions.ts";
import { ownPort } from "../../own-port.ts";
import { Attempts } from "../attempts.ts";
import { RawSocket } from "./raw-socket.ts";

function started(): { server: Server; release: () => void; running: Promise<void> } {
  let release = (): void => {};
  let run = (): void => {};
  const running = new Promise<void>((resolve) => {
    run = resolve;
  });
  const released = new Promise<string>((resolve) => {
    release = () => resolve("released");
  });
  const server = createServer(
    {
      echo: (value: unknown) => value,
      where: method({}, (_, { transport }) => [transport.kind, transport.remoteAddress]),
      hold: method({}, () => {
        run();
        return released;
      }),
    },
    { log: silentLog },
  );
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { server, release, running };
}

describe("an address", () => {
  test.each(["tcp://127.0.0.1:PORT", "tcp://localhost:PORT"])(
    "%s is understood",
    async (address) => {
      const { server } = started();
      const { port } = await serveSocket(server, { port: 0 });
      await using client = createClient(tcpLink(address.replace("PORT", String(port))));
      expect(await client.call("where")).toEqual(["tcp", "127.0.0.1"]);
    },
  );

  test.each(["localhost:9000", "http://localhost:9000", "tcp://localhost", "tcp://:9000", ""])(
    "%j is refused",
    (address) => {
      expect(() => tcpLink(address)).toThrow(TypeError);
    },
  );

  test("of a port takes options beside it and after it, and those after it win", async () => {
    const server = createServer({ ask: method({}, (_, { peer }) => peer.call("name")) });
    onTestFinished(() => server.close({ drainMs: 0 }));
    const { port } = await serveSocket(server, { port: 0, framing: "content-length" });
    const named = (name: string) => createServer({ name: () => name });
    const options = { service: named("second"), framing: "content-length" } as const;
    await using after = createClient(tcpLink({ port }, options));
    expect(await after.call("ask")).toBe("second");
    await using both = createClient(tcpLink({ port, service: named("first") }, options));
    expect(await both.call("ask")).toBe("second");
    await using beside = createClient(tcpLink({ port, ...options, service: named("first") }));
    expect(await beside.call("ask")).toBe("first");
  });

  test.skipIf(!hasIpv6)("of IPv6 is understood (needs IPv6)", async () => {
    const { server } = started();
    const { port, host } = await serveSocket(server, { port: 0, host: "::1" });
    expect(host).toBe("::1");
    await using client = createClient(tcpLink(`tcp://[::1]:${port}`));
    expect(await client.call("where")).toEqual(["tcp", "::1"]);
  });

  test("without a listener fails the call, and names the address", async () => {
    const port = await ownPort();
    await expect(createClient(tcpLink({ port })).call("echo", [1])).rejects.toMatchObject({
      name: "WireError",
      code: "CONNECTION_FAILED",
      message: expect.stringContaining(`tcp://127.0.0.1:${port}`),
    });
    await expect(connectSocket({ host: "localhost", port })).rejects.toMatchObject({
      message: expect.stringContaining("ECONNREFUSED"),
    });
  });

  test("is a port or a path, and not both", async () => {
    const { server } = started();
    await expect(connectSocket({})).rejects.toThrow(TypeError);
    await expect(connectSocket({ port: 1, path: "x" })).rejects.toThrow(TypeError);
    await expect(serveSocket(server, {})).rejects.toThrow(TypeError);
    await expect(serveSocket(server, { port: 0, framing: "no" as "newline" })).rejects.toThrow(
      'unknown framing "no"; known are newline, content-length, length-prefix',
    );
  });

  test("is that of this machine alone unless another is given", async () => {
    const { server } = started();
    expect((await serveSocket(server, { port: 0 })).host).toBe("127.0.0.1");
  });
});

test("a link is made with the first call and shared by all that follow", async () => {
  const { server } = started();
  const { port, connections } = await serveSocket(server, { port: 0 });
  await using client = createClient(tcpLink({ port }));
  expect(connections.size).toBe(0);
  await Promise.all(Array.from({ length: 100 }, (_, i) => client.call("echo", [i])));
  expect(connections.size).toBe(1);
});

test("a link reconnects: the next call reaches the restarted server", async () => {
  const first = started();
  const port = await ownPort();
  await serveSocket(first.server, { port });
  await using client = createClient(tcpLink({ port, reconnect: { delayMs: 1 } }));
  expect(await client.call("echo", [1])).toBe(1);
  const open = expect(client.call("hold")).rejects.toThrow("Server is shutting down");
  await first.running;
  await first.server.close({ drainMs: 0 });
  await open;
  const second = started();
  await serveSocket(second.server, { port });
  expect(await client.with({ idempotent: true }).call("echo", [2])).toBe(2);
});

test("a server that disconnects at once is not tried forever", async () => {
  let accepted = 0;
  const rude = createNetServer((socket) => {
    accepted++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => rude.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void rude.close());
  const { port } = rude.address() as { port: number };
  const attempts = new Attempts(3);
  await using client = createClient(tcpLink({ port, reconnect: attempts.options }));
  await expect(client.call("echo", [1])).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  await attempts.over();
  expect(accepted).toBe(4);
});

/** A call that has no answer before it did not run. */
const lastWord =
  '{"jsonrpc":"2.0","error":{"code":-32006,"message":"Server is shutting down","data":{"ran":false,"reason":"stopping"}},"id":null}';

describe("a socket that closes", () => {
  test("lets running calls finish, refuses new ones, and closes with its last message after the last reply", async () => {
    const { server, release, running } = started();
    const socket = await serveSocket(server, { port: await ownPort() });
    const client = new RawSocket({ port: socket.port as number });
    client.send('{"jsonrpc":"2.0","method":"hold","id":1}\n');
    await running;
    const closing = socket.close();
    client.send('{"jsonrpc":"2.0","method":"echo","params":[1],"id":2}\n');
    const [refusal = ""] = await client.lines(1);
    expect(JSON.parse(refusal)).toMatchObject({ error: { code: -32006 }, id: 2 });
    await expect(connectSocket({ port: socket.port })).rejects.toMatchObject({
      code: "CONNECTION_FAILED",
    });
    release();
    await closing;
    const reply = '{"jsonrpc":"2.0","result":"released","id":1}';
    expect(await client.closed).toBe(`${refusal}\n${reply}\n${lastWord}\n`);
    // The service continues: only this socket is closed.
    expect(server.receive('{"jsonrpc":"2.0","method":"echo","params":[1],"id":3}')).toContain("1");
  });

  test("waits no longer than drainMs", async () => {
    const { server, running } = started();
    const socket = await serveSocket(server, { port: 0, drainMs: 20 });
    const client = new RawSocket({ port: socket.port as number });
    client.send('{"jsonrpc":"2.0","method":"hold","id":1}\n');
    await running;
    await socket.close();
    expect(JSON.parse(await client.closed)).toMatchObject({
      error: { code: -32006, data: { ran: true } },
      id: 1,
    });
  });

  test("closes with its service, and once only", async () => {
    const { server } = started();
    const socket = await serveSocket(server, { port: 0 });
    const client = new RawSocket({ port: socket.port as number });
    client.send('{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}\n');
    await client.lines(1);
    await server.close();
    await socket.close();
    expect(await client.closed).toBe(`{"jsonrpc":"2.0","result":1,"id":1}\n${lastWord}\n`);
  });
});

test("a client that sends one line and closes its side gets its answer", async () => {
  const { server } = started();
  const { port } = await serveSocket(server, { port: 0 });
  const client = new RawSocket({ port: port as number });
  client.socket.end('{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}');
  expect(await client.closed).toBe('{"jsonrpc":"2.0","result":1,"id":1}\n');
});

test("a message split over many writes, inside a character too, is read as one", async () => {
  const { server } = started();
  const { port } = await serveSocket(server, { port: 0 });
  const client = new RawSocket({ port: port as number });
  client.socket.setNoDelay(true);
  for (const byte of Buffer.from('{"jsonrpc":"2.0","method":"echo","params":["é😀"],"id":1}\n')) {
    client.send(Uint8Array.of(byte));
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await client.lines(1)).toEqual(['{"jsonrpc":"2.0","result":"é😀","id":1}']);
});
