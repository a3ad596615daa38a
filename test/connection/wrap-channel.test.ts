import { MessageChannel } from "node:worker_threads";
import { createClient, createServer, type Link } from "callwire";
import type { Channel } from "callwire/connection";
import { serveHttp } from "callwire/http/node";
import { stdioLink } from "callwire/stdio";
import { serveSocket, tcpLink } from "callwire/tcp";
import { portLink, servePort } from "callwire/worker";
import { webSocketLink } from "callwire/ws";
import { afterEach, expect, test } from "vitest";

type Wrap = (channel: Channel) => Channel;

const server = () => createServer({ add: (a: number, b: number) => a + b });
const closers: (() => unknown)[] = [];

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

const child = `
  process.stdin.on("data", (data) => {
    const { id, params: [a, b] } = JSON.parse(data);
    console.log(JSON.stringify({ jsonrpc: "2.0", result: a + b, id }));
  });
`;

const wires: Record<string, (wrapChannel: Wrap) => Promise<Link>> = {
  async tcp(wrapChannel) {
    const own = server();
    closers.push(() => own.close());
    const { port } = await serveSocket(own, { port: 0 });
    return tcpLink({ port, wrapChannel });
  },
  async websocket(wrapChannel) {
    const own = server();
    closers.push(() => own.close());
    const { url } = await serveHttp(own, { port: 0 });
    return webSocketLink(url, { wrapChannel });
  },
  async stdio(wrapChannel) {
    return stdioLink(process.execPath, ["-e", child], { wrapChannel });
  },
  async port(wrapChannel) {
    const own = server();
    closers.push(() => own.close());
    const { port1, port2 } = new MessageChannel();
    servePort(own, port1);
    return portLink(port2, { wrapChannel });
  },
};

test.each(Object.keys(wires))("a wrapped channel sees what passes both ways: %s", async (wire) => {
  const seen: string[] = [];
  const link = await wires[wire]?.((channel) => ({
    send(text) {
      seen.push(`--> ${text.replace(/"id":\d+/, '"id":1')}`);
      channel.send(text);
    },
    listen: (listener) =>
      channel.listen({
        message(text) {
          seen.push(`<-- ${text.replace(/"id":\d+/, '"id":1')}`);
          listener.message(text);
        },
        fault: (fault) => listener.fault(fault),
        drain: () => listener.drain(),
        end: (error) => listener.end(error),
      }),
    get bufferedBytes() {
      return channel.bufferedBytes;
    },
    close: (reason) => channel.close(reason),
  }));
  await using client = createClient(link as Link);
  expect(await client.call("add", [2, 3])).toBe(5);
  expect(seen).toEqual([
    '--> {"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}',
    '<-- {"jsonrpc":"2.0","result":5,"id":1}',
  ]);
});
