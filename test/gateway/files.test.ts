import { createClient, createServer, method } from "callwire";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { z } from "zod";

const methods = {
  shout: method({ params: z.object({ file: z.instanceof(Blob) }) }, async ({ file }) => ({
    loud: new Blob([(await file.text()).toUpperCase()], { type: file.type }),
  })),
};

const file = new Blob(["sea ".repeat(50_000)], { type: "text/plain" });

test.each(["http", "ws"])("files pass through a gateway to an upstream over %s", async (scheme) => {
  await using server = createServer(methods);
  const upstream = await serveHttp(server, { port: 0 });
  const address = `${scheme}://127.0.0.1:${upstream.port}/rpc`;
  await using gateway = await createGateway({
    upstreams: {
      main: {
        targets: { one: () => (scheme === "http" ? httpLink(address) : webSocketLink(address)) },
      },
    },
    routes: [{ method: "*", to: "main" }],
  });
  const front = await serveHttp(gateway, { port: 0 });
  const link = httpLink(`http://127.0.0.1:${front.port}/rpc`);
  await using client = createClient<typeof methods>(link, { values: "rich" });
  const { loud } = await client.api.shout({ file });
  expect(loud.type).toBe("text/plain");
  expect(await loud.text()).toBe("SEA ".repeat(50_000));
});

test("a file that is too long to go inside a message is refused before anything is sent", async () => {
  await using server = createServer(methods);
  const upstream = await serveHttp(server, { port: 0 });
  await using gateway = await createGateway({
    upstreams: {
      main: { targets: { one: () => webSocketLink(`ws://127.0.0.1:${upstream.port}/rpc`) } },
    },
    routes: [{ method: "*", to: "main" }],
  });
  const front = await serveHttp(gateway, { port: 0 });
  const link = httpLink(`http://127.0.0.1:${front.port}/rpc`);
  await using client = createClient<typeof methods>(link, { values: "rich" });
  const long = new Blob([new Uint8Array(3_000_000)]);
  await expect(client.api.shout({ file: long })).rejects.toMatchObject({
    data: { ran: false, reason: "too-large" },
  });
});

test("files travel as base64 over WebSocket", async () => {
  await using server = createServer(methods);
  const { port } = await serveHttp(server, { port: 0 });
  const link = webSocketLink(`ws://127.0.0.1:${port}/rpc`);
  await using client = createClient<typeof methods>(link, { values: "rich" });
  const { loud } = await client.api.shout({ file });
  expect(await loud.text()).toBe("SEA ".repeat(50_000));
});
