import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createClient, type Log, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { FakeClock } from "callwire/testing";
import { connectWebSocket } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { add, post, RawClient, send, serve, sum } from "./wire.ts";

const methods = { add: (a: number, b: number) => a + b };

/** As many silent connections as the server allows. */
async function holding(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1"));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

test.each([[{ maxConnections: 3 }], [{ maxConnectionsPerAddress: 3 }]])(
  "a call over a connection above the limit learns that the server is busy: %j",
  async (options) => {
    const warnings: string[] = [];
    const log: Log = { ...silentLog, warn: (_, message) => void warnings.push(message) };
    const { port, url, server } = await serve(methods, options, { log });
    let open = 0;
    const accepted = new Promise<void>((resolve) => {
      server.on("connection", () => {
        if (++open === 3) resolve();
      });
    });
    const held = await holding(port, 3);
    await accepted;
    const refused = await send(port, { body: add });
    expect([refused.status, refused.headers["connection"]]).toEqual([503, "close"]);
    expect(JSON.parse(refused.text).error.data).toEqual({
      ran: false,
      reason: "busy",
      retryAfterMs: 1000,
    });
    await using client = createClient(httpLink(url));
    await expect(client.call("add", [2, 3])).rejects.toMatchObject({ code: -32005 });
    await expect(connectWebSocket(url.replace("http", "ws"))).rejects.toMatchObject({
      status: 503,
    });
    expect(warnings).toEqual(["too many connections; dropped one"]);
    // Others replace one that left.
    held[0]?.destroy();
    await expect.poll(() => client.call("add", [2, 3]).catch(() => "busy")).toBe(5);
  },
);

test("a connection over the limit that sends nothing is closed with the same answer", async () => {
  const { port } = await serve(methods, { maxConnections: 1 });
  const first = new RawClient(port);
  first.write(post(add));
  await first.until((text) => text.endsWith(sum));
  expect(await new RawClient(port).all()).toContain('"ran":false');
});

test.each([{ maxConnections: 1 }, { maxConnectionsPerAddress: 1 }])(
  "a connection is dropped while 100 others wait to be refused: %o",
  async (options) => {
    const clock = new FakeClock();
    const { port, server } = await serve(methods, options, { clock });
    let seen = 0;
    const arrived = new Promise<void>((resolve) => {
      const count = () => ++seen === 102 && resolve();
      server.on("connection", count).on("drop", count);
    });
    await holding(port, 1);
    const texts = (await holding(port, 101)).map(async (socket) => {
      let text = "";
      socket.setEncoding("utf8").on("data", (part) => {
        text += part;
      });
      await once(socket, "close").catch(() => {});
      return text;
    });
    await arrived;
    clock.advance(250);
    const refused = (await Promise.all(texts)).filter((text) => text.startsWith("HTTP/1.1 503"));
    expect(refused.length).toBe(100);
  },
);
