/** CVE-2026-33252, CVE-2022-41919: a form of another site whose body is taken for JSON. */
import { createServer, silentLog } from "callwire";
import { fetchHandler } from "callwire/http";
import { expect, test } from "vitest";
import { RawClient, send, serve } from "../../transports/http/wire.ts";
import { counted, request } from "../serving.ts";

const types = [
  undefined,
  "",
  "text/plain",
  "text/plain; application/json",
  "text/plain;application/json",
  "application/x-www-form-urlencoded",
  "multipart/form-data; boundary=application/json",
  "application/jsonp",
  "application/json-seq",
  "application/json, text/plain",
  "application/json; charset=utf-16",
];

test.each(types)("the content type %j is answered with 415, and no handler runs", async (type) => {
  const count = counted();
  const { port } = await serve(count.methods);
  const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
  for (const path of ["/rpc", "/rpc/stream"]) {
    expect((await send(port, { path, headers, body: request("echo") })).status).toBe(415);
  }
  const server = createServer(count.methods, { log: silentLog });
  const fetched = new Request("http://localhost/rpc", { method: "POST", headers, body: null });
  expect((await fetchHandler(server)(fetched)).status).toBe(415);
  expect(count.calls).toBe(0);
});

test("a tab in the content type does not make it JSON", async () => {
  const count = counted();
  const { port } = await serve(count.methods);
  const body = request("echo");
  const raw = new RawClient(port);
  raw.write(
    "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\tx\r\n" +
      `Content-Length: ${body.length}\r\n\r\n${body}`,
  );
  expect(await raw.until((text) => text.includes("\r\n\r\n"))).toMatch(/^HTTP\/1\.1 415 /);
  expect(count.calls).toBe(0);
});

test("two content types are refused", async () => {
  const count = counted();
  const { port } = await serve(count.methods);
  const headers = { "content-type": ["text/plain", "application/json"] };
  expect((await send(port, { headers, body: request("echo") })).status).toBe(400);
  expect(count.calls).toBe(0);
});
