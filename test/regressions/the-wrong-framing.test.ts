/**
 * A client and a server with different framings: both report that, instead of "Parse error" or
 * nothing.
 */
import { createClient, createServer, type Log, silentLog, WireError } from "callwire";
import type { Framing } from "callwire/framing";
import { serveSocket, tcpLink } from "callwire/tcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { RawSocket } from "../transports/tcp/raw-socket.ts";

type FramingName = Framing["name"];

async function serve(framing: FramingName): Promise<{ port: number; faults: unknown[] }> {
  const faults: unknown[] = [];
  const log: Log = {
    ...silentLog,
    warn: (fields) => faults.push((fields as { fault?: unknown }).fault),
  };
  const server = createServer({ add: (a: number, b: number) => a + b }, { log });
  const socket = await serveSocket(server, { port: 0, framing });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { port: socket.port as number, faults };
}

describe.each<[FramingName, FramingName, RegExp, RegExp]>([
  [
    "newline",
    "content-length",
    /no Content-Length header.*"newline"/,
    /Content-Length.*"content-length"/,
  ],
  [
    "content-length",
    "newline",
    /Content-Length.*"content-length"/,
    /no Content-Length header.*"newline"/,
  ],
])("a client with the framing %s of a server with %s", (own, other, logged, failed) => {
  test("learns which framing the server has, as the server does", async () => {
    const { port, faults } = await serve(other);
    const link = tcpLink(`tcp://127.0.0.1:${port}`, { framing: own, reconnect: false });
    await using client = createClient(link);
    const error = await client.call("add", [2, 3]).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(WireError);
    expect((error as WireError).message).toMatch(failed);
    expect(faults).toEqual([expect.stringMatching(logged)]);
  });
});

test("a line of JSON without a header is answered with the reason", async () => {
  const { port } = await serve("content-length");
  const socket = new RawSocket({ port });
  socket.send('{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}\n');
  const [, body = ""] = (await socket.closed).split("\r\n\r\n");
  expect(JSON.parse(body)).toEqual({
    jsonrpc: "2.0",
    error: { code: -32700, message: "Parse error", data: expect.stringContaining('"newline"') },
    id: null,
  });
});

test("a line that only resembles a header is a message like others", async () => {
  const { port, faults } = await serve("newline");
  const socket = new RawSocket({ port });
  socket.send('Content-Length: none\n{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}\n');
  const [first = "", second = ""] = await socket.lines(2);
  expect(JSON.parse(first)).toMatchObject({ error: { code: -32700 } });
  expect(JSON.parse(second)).toMatchObject({ result: 5 });
  expect(faults).toEqual([]);
});
