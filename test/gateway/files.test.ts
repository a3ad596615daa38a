import { byteStream, createClient, createServer, method, type Service, silentLog } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";

let left = (): void => {};

const methods = {
  endless: method(
    { result: byteStream() },
    () =>
      new ReadableStream<Uint8Array>(
        {
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          cancel: () => left(),
        },
        { highWaterMark: 0 },
      ),
  ),
  shout: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => ({
    loud: new Blob([(await file.text()).toUpperCase()], { type: file.type }),
  })),
};

const file = new Blob(["sea ".repeat(50_000)], { type: "text/plain" });

/** The wires to a server, and to a gateway. */
const wires = {
  HTTP: async (service: Service) => {
    const { port } = await serveHttp(service, { port: 0 });
    return () => httpLink(`http://127.0.0.1:${port}/rpc`);
  },
  WebSocket: async (service: Service) => {
    const { port } = await serveHttp(service, { port: 0 });
    return () => webSocketLink(`ws://127.0.0.1:${port}/rpc`);
  },
  "TCP with a length in front": async (service: Service) => {
    const { port } = await serveSocket(service, { port: 0, framing: "length-prefix" });
    return () => tcpLink({ port: port as number, framing: "length-prefix" });
  },
  "TCP with lines": async (service: Service) => {
    const { port } = await serveSocket(service, { port: 0 });
    return () => tcpLink({ port: port as number });
  },
};
type WireName = keyof typeof wires;
const names = Object.keys(wires) as WireName[];

async function throughGateway(front: WireName, back: WireName) {
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const one = await wires[back](server);
  const gateway = await createGateway({
    upstreams: { main: { targets: { one } } },
    routes: [{ method: "*", to: "main" }],
  });
  onTestFinished(() => gateway.close({ drainMs: 0 }));
  const link = (await wires[front](gateway))();
  onTestFinished(() => link.close());
  return createClient<typeof methods>(link, { values: "rich" });
}

test.each(names.flatMap((front) => names.map((back) => [front, back] as const)))(
  "files pass through a gateway from %s to %s",
  async (front, back) => {
    const client = await throughGateway(front, back);
    const { loud } = await client.api.shout({ file });
    expect(loud.type).toBe("text/plain");
    expect(await loud.text()).toBe("SEA ".repeat(50_000));
  },
);

test("files count as memory of a gateway that has to put them into the message", async () => {
  const server = createServer(methods, { log: silentLog });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const one = await wires["TCP with lines"](server);
  const config = {
    upstreams: { main: { targets: { one } } },
    routes: [{ method: "*", to: "main" }],
  } as const;
  const gateway = await createGateway(config, { maxRunningBytes: file.size });
  onTestFinished(() => gateway.close({ drainMs: 0 }));
  const link = (await wires.HTTP(gateway))();
  onTestFinished(() => link.close());
  const call = createClient<typeof methods>(link, { values: "rich" }).api.shout({ file });
  await expect(call).rejects.toMatchObject({ code: -32005, data: { ran: false } });
});

const beside = names.filter((name) => name !== "TCP with lines");

test.each(beside.flatMap((front) => beside.map((back) => [front, back] as const)))(
  "a stream passes through a gateway from %s to %s while it is read",
  async (front, back) => {
    const client = await throughGateway(front, back);
    const poured = (await client.api.endless()).getReader();
    for (let read = 0; read < 3_000_000; ) read += (await poured.read()).value?.length ?? 0;
    const ended = new Promise<void>((resolve) => {
      left = resolve;
    });
    await poured.cancel();
    await ended;
  },
);

test("a file that is too long to go inside a message is refused before anything is sent", async () => {
  const client = await throughGateway("WebSocket", "TCP with lines");
  const long = new Blob([new Uint8Array(3_000_000)]);
  await expect(client.api.shout({ file: long })).rejects.toMatchObject({
    data: { ran: false, reason: "too-large" },
  });
});
