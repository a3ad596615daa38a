import { createClient, createServer, method, RpcError, silentLog } from "callwire";
import { Connection, memoryChannels } from "callwire/connection";
import { serveHttp } from "callwire/http/node";
import { beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../services.ts";

// A library that leaves the wire to its user; here it gets fetch, and a channel in memory.

const server = createServer(
  {
    add: method({ params: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => a + b),
    fail: method({}, () => {
      throw new RpcError(1001, "Refused", { reason: "because" });
    }),
  },
  { log: silentLog },
);

describeWith(["npm peers"], "json-rpc-2.0", () => {
  let peer: typeof import("json-rpc-2.0");

  beforeAll(async () => {
    peer = await import("json-rpc-2.0");
  });

  test("as a client gets answers, errors and batches from our server over HTTP", async () => {
    const http = await serveHttp(server, { port: 0 });
    const client = new peer.JSONRPCClient(async (payload) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify(payload);
      const response = await fetch(http.url, { method: "POST", headers, body });
      if (response.status === 200) client.receive(await response.json());
      else expect(response.status).toBe(204);
    });
    expect(await client.request("add", { a: 2, b: 3 })).toBe(5);
    expect(await client.request("add", [2, 3])).toBe(5);
    client.notify("add", [1, 2]);
    await expect(client.request("fail", {})).rejects.toMatchObject({
      code: 1001,
      message: "Refused",
      data: { reason: "because" },
    });
    const calls = [1, 2].map((id) => ({
      jsonrpc: peer.JSONRPC,
      id,
      method: "add",
      params: { a: id, b: 10 },
    }));
    const replies = await client.requestAdvanced(calls, undefined);
    expect(replies.map(({ result }) => result)).toEqual([11, 12]);
    await http.close();
  });

  test("on the other side of a channel calls us while we call it", async () => {
    const [left, right] = memoryChannels();
    const both = new peer.JSONRPCServerAndClient(
      new peer.JSONRPCServer(),
      new peer.JSONRPCClient((payload) => right.send(JSON.stringify(payload))),
    );
    both.addMethod("subtract", ([a, b]: [number, number]) => a - b);
    both.addMethod("twice", async () => (await both.request("add", { a: 2, b: 3 })) * 2);
    right.listen({
      message: (text) => void both.receiveAndSend(JSON.parse(text)),
      fault() {},
      drain() {},
      end() {},
    });
    const transport = { kind: "memory", headers: {}, remoteAddress: undefined };
    const client = createClient(new Connection(left, { service: server, transport }));
    expect(await client.call("subtract", [5, 3])).toBe(2);
    expect(await client.call("twice")).toBe(10);
    await expect(client.call("nothing")).rejects.toMatchObject({ code: -32601 });
    await client.close();
  });
});
