/** Bodies that come a byte at a time, of which each would take a hundred bytes if it were kept as it came. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { createClient, createServer } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { expect, onTestFinished, test } from "vitest";
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

test("replies and requests are whole, whatever carries them", async () => {
  const value = "né€𝄞 ".repeat(1_000);
  const bytes = Buffer.from(JSON.stringify({ jsonrpc: "2.0", result: value, id: 1 }));
  const http = createHttpServer((request, response) => {
    request.resume().on("end", () => {
      response.setHeader("content-type", "application/json");
      for (const byte of bytes) response.write(Uint8Array.of(byte));
      response.end();
    });
  });
  await once(http.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void http.close());
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/rpc`;
  for (const link of [httpLink(url), httpLink(url, { fetch: (to, init) => fetch(to, init) })]) {
    const reply = link.send({ jsonrpc: "2.0", method: "any", id: 1 }, outgoing());
    expect(await reply).toMatchObject({ result: value });
    await createClient(link).close();
  }
  const handle = fetchHandler(createServer(methods));
  const sent = Buffer.from(
    JSON.stringify({ jsonrpc: "2.0", method: "length", params: [value], id: 1 }),
  );
  const body = new ReadableStream({
    start(controller) {
      for (const byte of sent) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const init = { method: "POST", headers: json, body, duplex: "half" };
  const request = new Request("http://localhost/rpc", init);
  expect(await (await handle(request)).json()).toMatchObject({ result: value.length });
});

function outgoing() {
  return {
    cancel: undefined,
    item: () => undefined,
    progress() {},
    gap() {},
    headers: undefined,
    idempotent: false,
  };
}
