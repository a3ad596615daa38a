import { createClient, createServer, method, type Peer, RpcError, silentLog } from "callwire";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { connectWebSocket } from "callwire/ws";
import type { Client, Server } from "rpc-websockets";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../services.ts";

// JSON-RPC over WebSocket as the clients of Solana have it. What its servers emit, `{"notification":…}`,
// is not JSON-RPC; its clients take ordinary notifications as well.

describeWith(["npm peers"], "rpc-websockets 10", () => {
  let peer: typeof import("rpc-websockets");

  beforeAll(async () => {
    peer = await import("rpc-websockets");
  });

  describe("as a client of our server", () => {
    let http: HttpServer;
    let client: Client;

    beforeAll(async () => {
      const subscribers = new Set<Peer>();
      const server = createServer(
        {
          add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
          fail: method({}, () => {
            throw new RpcError(1001, "Refused", { reason: "because" });
          }),
          subscribe: method({}, (_, call) => void subscribers.add(call.peer)),
          publish: (text: string) => {
            for (const each of subscribers) each.notify("news", [text]);
          },
        },
        { log: silentLog },
      );
      http = await serveHttp(server, { port: 0 });
      client = new peer.Client(http.url.replace("http", "ws"), { reconnect: false });
      await event(client, "open");
    });

    afterAll(async () => {
      client?.close();
      await http?.close();
    });

    test("gets answers, by name and by position", async () => {
      expect(await client.call("add", { a: 2, b: 3 })).toBe(5);
      expect(await client.call("add", [2, 3])).toBe(5);
    });

    test("gets errors with their code and data", async () => {
      await expect(client.call("fail")).rejects.toEqual({
        code: 1001,
        message: "Refused",
        data: { reason: "because" },
      });
    });

    test("sends notifications, and gets ours as events", async () => {
      expect(await client.call("subscribe")).toBeNull();
      const news = event(client, "news");
      await client.notify("publish", ["hi"]);
      expect(await news).toEqual(["hi"]);
    });
  });

  describe("as a server of our client", () => {
    let server: Server;

    beforeAll(async () => {
      server = new peer.Server({ port: 0, host: "127.0.0.1" });
      await event(server, "listening");
      server.register("add", (params) => {
        const [a, b] = params as unknown as [number, number];
        return a + b;
      });
      server.event("news");
    });

    afterAll(() => server?.close());

    test("answers calls, also after events that are not JSON-RPC", async () => {
      const { port } = server.wss.address() as { port: number };
      await using connection = await connectWebSocket(`ws://127.0.0.1:${port}`, { log: silentLog });
      const client = createClient(connection);
      expect(await client.call("add", [2, 3])).toBe(5);
      await expect(client.call("nothing")).rejects.toMatchObject({ code: -32601 });
      expect(await client.call("rpc.on", ["news"])).toEqual({ news: "ok" });
      for (let i = 0; i < 20; i++) server.emit("news", "hi");
      expect(await client.call("add", [3, 4])).toBe(7);
    });
  });
});

/** The first argument of an event. */
function event(
  emitter: { once(event: string, listener: (value: unknown) => void): unknown },
  name: string,
): Promise<unknown> {
  return new Promise((resolve) => void emitter.once(name, resolve));
}
