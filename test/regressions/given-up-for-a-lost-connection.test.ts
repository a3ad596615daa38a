import { once } from "node:events";
import { createClient, createServer, type Link, method, type Server, stream } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { startProxy } from "../transports/contract/proxy.ts";

type Serve = (server: Server) => Promise<{ port: number | undefined; close(): Promise<void> }>;
type LinkTo = (port: number, onLost: () => void) => Link;

const wires: readonly (readonly [string, Serve, LinkTo])[] = [
  [
    "TCP",
    (server) => serveSocket(server, { port: 0 }),
    (port, onLost) => tcpLink({ port, reconnect: { onLost } }),
  ],
  [
    "WebSocket",
    (server) => serveHttp(server, { port: 0 }),
    (port, onLost) => webSocketLink(`ws://127.0.0.1:${port}/rpc/ws`, { reconnect: { onLost } }),
  ],
];

// They ran once more, and no caller was left to cancel them.
test.each(wires)("calls that are cancelled in onLost are not sent again: %s", async (...wire) => {
  const [, serve, linkTo] = wire;
  const runs: string[] = [];
  const server = createServer({
    echo: (text: string) => text,
    wait: method({}, async (_, { signal }) => {
      runs.push("wait");
      await once(signal, "abort");
    }),
    ticks: stream({}, async function* (_, { signal }) {
      runs.push("ticks");
      yield 1;
      await once(signal, "abort");
    }),
  });
  const served = await serve(server);
  const proxy = await startProxy({ port: served.port as number, host: "127.0.0.1" });
  const controller = new AbortController();
  const { signal } = controller;
  const client = createClient(linkTo(proxy.port, () => controller.abort()));
  const options = { signal, idempotent: true };
  const waiting = expect(client.call("wait", [], options)).rejects.toMatchObject({
    code: "ABORTED",
  });
  const read = async (): Promise<void> => {
    for await (const _ of client.stream("ticks", [], options)) proxy.cut();
  };
  await expect(read()).rejects.toMatchObject({ code: "ABORTED" });
  await waiting;
  // Arrives after everything else that was sent when the link had reconnected.
  expect(await client.call("echo", ["healed"])).toBe("healed");
  expect(runs).toEqual(["wait", "ticks"]);
  await client.close();
  proxy.close();
  await served.close();
});
