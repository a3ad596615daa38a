/** Bodies that arrive a byte at a time. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, createServer } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { expect, onTestFinished, test } from "vitest";
import { json } from "./wire.ts";

const methods = { length: (text: string) => text.length };

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
