import { createClient, createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";

/** Together more than may wait for one reader. */
const calls = 200;
const length = 64 * 1024;

const server = () =>
  createServer({
    long: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return "x".repeat(length);
    },
  });

test("long replies that are ready together all arrive over WebSocket", async () => {
  await using http = await serveHttp(server(), { port: 0 });
  await using client = createClient(webSocketLink(`ws://127.0.0.1:${http.port}/rpc/ws`));
  const replies = await Promise.all(Array.from({ length: calls }, () => client.call("long")));
  expect(replies.every((reply) => (reply as string).length === length)).toBe(true);
});

test("long replies that are ready together all arrive over TCP", async () => {
  await using served = await serveSocket(server(), { port: 0 });
  await using client = createClient(tcpLink({ port: served.port as number }));
  const replies = await Promise.all(Array.from({ length: calls }, () => client.call("long")));
  expect(replies.every((reply) => (reply as string).length === length)).toBe(true);
});

test("many long calls that are made together all go out", async () => {
  await using http = await serveHttp(createServer({ size: (text: string) => text.length }), {
    port: 0,
  });
  await using client = createClient(webSocketLink(`ws://127.0.0.1:${http.port}/rpc/ws`));
  const text = "x".repeat(length);
  const sizes = await Promise.all(Array.from({ length: calls }, () => client.call("size", [text])));
  expect(new Set(sizes)).toEqual(new Set([length]));
});
