/**
 * Bodies that arrive a byte at a time, each of which would take a hundred bytes if it were kept as
 * received.
 */
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { heapUsed } from "../../heap.ts";
import { json, RawClient, serve } from "./wire.ts";

const methods = { length: (text: string) => text.length };

test("a request takes about as much memory as it is long", async () => {
  const { port, server } = await serve(methods);
  const sockets: Socket[] = [];
  server.on("connection", (socket) => sockets.push(socket));
  const client = new RawClient(port);
  const text = "x".repeat(500_000);
  const body = `{"jsonrpc":"2.0","method":"length","params":["${text}"],"id":1}`;
  const head = `POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${json["content-type"]}\r\n`;
  const chunks = Buffer.from(
    `${head}Transfer-Encoding: chunked\r\n\r\n${body.replace(/./g, "1\r\n$&\r\n")}`,
  );
  const before = heapUsed();
  client.write(chunks);
  while ((sockets[0]?.bytesRead ?? 0) < chunks.length) {
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect((heapUsed() - before) / text.length).toBeLessThan(20);
  client.write("0\r\n\r\n");
  expect(await client.until((came) => came.endsWith("}"))).toContain('"result":500000');
});
