import { createClient, createServer, type Link, stream, type Tap } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

const server = createServer({
  add: (a: number, b: number) => a + b,
  two: stream({}, function* () {
    yield "a";
    yield "b";
  }),
});

let http: string;
let tcp: string;

beforeAll(async () => {
  http = (await serveHttp(server, { port: 0 })).url;
  tcp = `tcp://127.0.0.1:${(await serveSocket(server, { port: 0 })).port}`;
});

afterAll(() => server.close());

const links: [name: string, (tap: Tap) => Link][] = [
  ["HTTP", (tap) => httpLink(http, { tap })],
  ["fetch", (tap) => httpLink(http, { tap, fetch: (url, init) => fetch(url, init) })],
  ["SSE", (tap) => sseLink(http, { tap })],
  ["WebSocket", (tap) => webSocketLink(http, { tap })],
  ["TCP", (tap) => tcpLink(tcp, { tap })],
];

describe.each(links)("a tap on %s", (_, link) => {
  test("sees messages in both directions, in order", async () => {
    const seen: [string, unknown][] = [];
    await using client = createClient(
      link((text, direction) => seen.push([direction, JSON.parse(text)])),
    );
    expect(await client.call("add", [2, 3])).toBe(5);
    const [[, first]] = seen as [[string, { id: number }]];
    expect(seen).toEqual([
      ["sent", { jsonrpc: "2.0", method: "add", params: [2, 3], id: first.id }],
      ["received", { jsonrpc: "2.0", result: 5, id: first.id }],
    ]);
    seen.length = 0;
    const items: unknown[] = [];
    for await (const item of client.stream("two")) items.push(item);
    expect(items).toEqual(["a", "b"]);
    expect(
      seen.filter(([direction]) => direction === "received").map(([, message]) => message),
    ).toMatchObject([
      { method: "$/stream", params: { value: "a" } },
      { method: "$/stream", params: { value: "b" } },
      { result: null },
    ]);
  });

  test("that throws does no harm", async () => {
    await using client = createClient(
      link(() => {
        throw new Error("the tap is broken");
      }),
    );
    expect(await client.call("add", [2, 3])).toBe(5);
  });
});
