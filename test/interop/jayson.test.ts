import { EventEmitter, once } from "node:events";
import type { AddressInfo, Server as NetServer } from "node:net";
import { createClient, createServer, method, RpcError, type Server, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { type HttpServer, serveHttp } from "callwire/http/node";
import { type SocketServer, serveSocket, tcpLink } from "callwire/tcp";
import type { Client as JaysonClient } from "jayson";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../services.ts";

// The most installed JSON-RPC library of Node, each way. Over TCP it ends each message with a newline.

const pair = z.object({ a: z.number(), b: z.number() });

describeWith(["npm peers"], "jayson 5", () => {
  let jayson: typeof import("jayson");

  beforeAll(async () => {
    jayson = (await import("jayson")).default;
  });

  describe("as a client of our servers", () => {
    const heard = new EventEmitter();
    const server: Server = createServer(
      {
        add: method({ params: pair }, ({ a, b }) => a + b),
        fail: method({}, () => {
          throw new RpcError(1001, "Refused", { reason: "because" });
        }),
        note: (text: string) => void heard.emit("note", text),
      },
      // By choice, jayson speaks 1.0.
      { versions: ["1.0", "2.0"], log: silentLog },
    );
    let http: HttpServer;
    let tcp: SocketServer;
    const clients = new Map<string, (options?: object) => JaysonClient>();

    beforeAll(async () => {
      http = await serveHttp(server, { port: 0 });
      tcp = await serveSocket(server, { port: 0 });
      const { hostname, port, pathname: path } = new URL(http.url);
      clients.set("HTTP", (more) => jayson.Client.http({ hostname, port, path, ...more }));
      clients.set("TCP", (more) =>
        jayson.Client.tcp({ host: "127.0.0.1", port: tcp.port as number, ...more }),
      );
    });

    afterAll(() => server.close());

    const wires = ["HTTP", "TCP"];
    const clientOver = (wire: string, options?: object): JaysonClient =>
      (clients.get(wire) as (options?: object) => JaysonClient)(options);

    test.each(wires)("gets answers over %s, by name and by position", async (wire) => {
      const client = clientOver(wire);
      expect(await request(client, "add", { a: 2, b: 3 })).toMatchObject({ result: 5 });
      expect(await request(client, "add", [2, 3])).toMatchObject({ jsonrpc: "2.0", result: 5 });
    });

    test.each(wires)("gets errors over %s", async (wire) => {
      const error = { code: 1001, message: "Refused", data: { reason: "because" } };
      expect(await request(clientOver(wire), "fail", [])).toMatchObject({ error });
    });

    test.each(wires)("sends notifications over %s", async (wire) => {
      const noted = once(heard, "note");
      const client = clientOver(wire);
      // An id of null is its way to ask for a notification.
      client.request("note", ["hi"], null as unknown as undefined, () => {});
      expect(await noted).toEqual(["hi"]);
    });

    test.each(wires)("gets batches answered over %s", async (wire) => {
      const client = clientOver(wire);
      const calls = [
        { jsonrpc: "2.0", method: "add", params: [1, 2], id: "a" },
        { jsonrpc: "2.0", method: "add", params: [3, 4], id: "b" },
      ];
      const replies = await new Promise<{ result: number }[]>((resolve, reject) =>
        client.request(calls, (error: unknown, answer?: { result: number }[]) =>
          error || answer === undefined ? reject(error) : resolve(answer),
        ),
      );
      expect(replies.map(({ result }) => result).sort()).toEqual([3, 7]);
    });

    test.each(wires)("uses version 1 over %s", async (wire) => {
      const client = clientOver(wire, { version: 1 });
      const reply = await request(client, "add", [2, 3]);
      expect(reply).toMatchObject({ result: 5, error: null });
      expect(reply).not.toHaveProperty("jsonrpc");
    });
  });

  describe("as a server of our clients", () => {
    let servers: readonly NetServer[];
    const links = new Map<string, () => ReturnType<typeof httpLink>>();

    beforeAll(async () => {
      type Reply = (error: unknown, result?: unknown) => void;
      const methods = {
        add: (args: readonly [number, number] | { a: number; b: number }, reply: Reply) => {
          const [a, b] = Array.isArray(args)
            ? args
            : [Reflect.get(args, "a"), Reflect.get(args, "b")];
          reply(null, a + b);
        },
        fail: (_: unknown, reply: Reply) =>
          reply({ code: 1001, message: "Refused", data: { reason: "because" } }),
      };
      const server = new jayson.Server(methods);
      const web = server.http() as unknown as NetServer;
      const tcp = server.tcp() as unknown as NetServer;
      servers = [web, tcp];
      const [webPort, tcpPort] = await Promise.all(servers.map(listening));
      links.set("HTTP", () => httpLink(`http://127.0.0.1:${webPort}`));
      links.set("TCP", () => tcpLink(`tcp://127.0.0.1:${tcpPort}`));
    });

    afterAll(() => {
      for (const server of servers ?? []) server.close();
    });

    test.each(["HTTP", "TCP"])("answers calls, batches and errors over %s", async (wire) => {
      const link = (links.get(wire) as () => ReturnType<typeof httpLink>)();
      await using client = createClient<{ add: (a: number, b: number) => number }>(link);
      expect(await client.api.add(2, 3)).toBe(5);
      expect(await client.call("add", { a: 2, b: 3 })).toBe(5);
      expect(await client.batch((b) => [b.add(1, 2), b.add(3, 4)])).toEqual([3, 7]);
      await expect(client.call<unknown>("fail")).rejects.toMatchObject({
        code: 1001,
        data: { reason: "because" },
      });
      await expect(client.call<unknown>("nothing")).rejects.toMatchObject({ code: -32601 });
      await client.notify("add", [1, 2]);
    });

    test("answers many calls at once over one TCP connection", async () => {
      const link = (links.get("TCP") as () => ReturnType<typeof tcpLink>)();
      await using client = createClient<{ add: (a: number, b: number) => number }>(link);
      const numbers = Array.from({ length: 200 }, (_, i) => i);
      expect(await Promise.all(numbers.map((n) => client.api.add(n, 1)))).toEqual(
        numbers.map((n) => n + 1),
      );
    });
  });
});

function request(client: JaysonClient, name: string, params: object): Promise<unknown> {
  return new Promise((resolve, reject) =>
    client.request(name, params as [], (error: unknown, reply: unknown) =>
      error ? reject(error) : resolve(reply),
    ),
  );
}

async function listening(server: NetServer): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
