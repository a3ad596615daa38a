/**
 * Behaviour of Node that `serveHttp` relies on although the docs do not promise it; these tests
 * fail if a new version changes it.
 */
import { once } from "node:events";
import { createServer as createNodeServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";
import { responseOn } from "../../src/serve/raw-refusal.ts";
import { post, RawClient } from "../transports/http/wire.ts";

test("a connection that waits for a request gets a response when the server closes", async () => {
  const http = await serveHttp(createServer({ add: (a: number, b: number) => a + b }), { port: 0 });
  onTestFinished(() => http.close());
  const client = new RawClient(http.port);
  const answered = once(http.server, "request").then(([, response]) => once(response, "close"));
  client.write(post('{"jsonrpc":"2.0","method":"add","params":[1,2],"id":1}'));
  await answered;
  const closed = http.close();
  expect(await client.all()).toContain("HTTP/1.1 503 Service Unavailable");
  await closed;
});

test("the response that a connection is busy with is found until it ends", async () => {
  const server = createNodeServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  const client = connect((server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void client.destroy());
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [request, response] = (await once(server, "request")) as [
    { readonly socket: Parameters<typeof responseOn>[0] },
    ServerResponse,
  ];
  expect(responseOn(request.socket)).toBe(response);
  response.end();
  await once(response, "close");
  expect(responseOn(request.socket)).toBeUndefined();
});
