/** A call that goes on without its client keeps nothing of the requests that came after it on its connection. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { method } from "callwire";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { collect } from "../heap.ts";
import { deferred } from "../transports/contract/wire.ts";
import { json, post, RawClient, serve } from "../transports/http/wire.ts";

const hold = post('{"jsonrpc":"2.0","method":"hold","id":1}');
const late = '{"jsonrpc":"2.0","method":"late","id":1}';
const lines = '{"jsonrpc":"2.0","method":"take","id":2,"upload":true}\n1\n';
const upload = post(lines).replace(json["content-type"], "application/jsonl");
const page = "GET /page HTTP/1.1\r\nHost: localhost\r\n\r\n";
const times = 5;
const rest = (upload + page + hold).repeat(times);

const chunked = post("")
  .replace("Content-Length: 0", "Transfer-Encoding: chunked")
  .concat(`${late.length.toString(16)}\r\n${late}\r\n0\r\n\r\n`);

test.each([
  ["a call", ""],
  ["a call, and one whose time was up before", post(late)],
  ["a call, and one in chunks whose time was up before", chunked],
])("%s", async (_, before) => {
  const held = deferred();
  onTestFinished(() => held.resolve());
  const { port, server } = await serve(
    {
      hold: () => held.promise,
      late: method({ timeoutMs: 1 }, () => held.promise),
      take: method({ upload: z.number() }, () => 1),
    },
    { drainMs: 0, mounts: { "/page": (_: unknown, response: ServerResponse) => response.end() } },
  );
  const waiting: WeakRef<object>[] = [];
  const arrived = deferred();
  const closed = deferred();
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) return;
    waiting.push(new WeakRef(request), new WeakRef(response));
    if (waiting.length < 2 * 3 * times) return;
    request.socket.once("close", () => closed.resolve());
    arrived.resolve();
  });
  const client = new RawClient(port);
  if (before !== "") {
    client.write(before);
    await client.until((text) => text.includes("-32003"));
  }
  client.write(hold + rest);
  await arrived.promise;
  client.socket.destroy();
  await closed.promise;
  // If anything holds one of them, this never ends.
  while (waiting.some((ref) => ref.deref() !== undefined)) {
    await turn();
    collect();
  }
  expect(waiting).toHaveLength(2 * 3 * times);
});
