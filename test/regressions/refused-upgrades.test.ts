/** A refused WebSocket upgrade reports what HTTP reports for the same refusal, as the cause of the failure to connect. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  createClient,
  createServer,
  RemoteError,
  RpcError,
  silentLog,
  type WireError,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate } from "callwire/security";
import { connectWebSocket, webSocketLink } from "callwire/ws";
import { expect, onTestFinished, test } from "vitest";

test("a caller that is refused sees the same error over HTTP and WebSocket", async () => {
  const data = { reason: "expired", retryAfterMs: 5 };
  const verify = () => new RpcError(-32_099, "Not now", data, { status: 403 });
  const use = [authenticate({ verify })];
  const server = createServer({ echo: (text: string) => text }, { use, log: silentLog });
  await using http = await serveHttp(server, { port: 0 });
  const address = `127.0.0.1:${http.port}/rpc`;
  await using byHttp = createClient(httpLink(`http://${address}`));
  await using bySocket = createClient(webSocketLink(`ws://${address}/ws`));
  const refusal = (await byHttp.call("echo", ["hi"]).catch((thrown) => thrown)) as RemoteError;
  expect(refusal).toMatchObject({ code: -32_099, message: "Not now", data });
  const failure = (await bySocket.call("echo", ["hi"]).catch((thrown) => thrown)) as WireError;
  expect(failure).toMatchObject({ code: "CONNECTION_FAILED", status: 403 });
  expect(failure.cause).toBeInstanceOf(RemoteError);
  expect(failure.cause).toEqual(refusal);
});

test("no more is read of a refusal than an error takes", async () => {
  const http = createHttpServer();
  http.on("upgrade", (_, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\n\r\n");
    const more = (): void => {
      if (!socket.destroyed) socket.write(" ".repeat(16_384), more);
    };
    more();
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  onTestFinished(() => void http.close());
  const { port } = http.address() as AddressInfo;
  const failure = await connectWebSocket(`ws://127.0.0.1:${port}`).catch((thrown) => thrown);
  expect(failure).toMatchObject({ code: "CONNECTION_FAILED", status: 401 });
  expect(failure).not.toHaveProperty("cause");
});
