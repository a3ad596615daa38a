/** The transport of 2024-11-05, with servers that break its rules. */
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { silentLog } from "callwire";
import { type McpClientOptions, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { type RawRequest, rawServer } from "./raw-server.ts";

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog, era: "legacy" };

/** Knows the old transport only: `stream` gets each stream, and `post` what is posted to its endpoint. */
function oldServer(
  stream: (response: ServerResponse) => void,
  post: (request: RawRequest, response: ServerResponse) => void = () => {},
) {
  return rawServer((request, response) => {
    if (request.verb === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      stream(response);
    } else if (request.path === "/mcp") response.writeHead(404).end();
    else post(request, response);
  });
}

const endpoint = "event: endpoint\ndata: /post\n\n";

test("a client closes although the server accepts no POST", async () => {
  const clock = new FakeClock();
  await using server = await oldServer((response) => response.write(endpoint));
  const client = mcpClient(mcpHttpLink(server.url, { clock }), { ...self, timeoutMs: 50 });
  await expect(client.connect()).rejects.toMatchObject({ code: "TIMEOUT" });
  await whileTimePasses(clock, 500, client.close());
});

test("a stream that names no endpoint is closed when no call waits for it", async () => {
  let gone: Promise<unknown> | undefined;
  await using server = await oldServer((response) => {
    gone = once(response, "close");
    response.write(": nothing\n\n");
  });
  await using client = mcpClient(mcpHttpLink(server.url), { ...self, timeoutMs: 50 });
  await expect(client.connect()).rejects.toMatchObject({ code: "TIMEOUT" });
  await gone;
});

test("a stream that ends is opened again for a client that only listens", async () => {
  const streams: ServerResponse[] = [];
  await using server = await oldServer(
    (response) => {
      streams.push(response);
      response.write(endpoint);
    },
    ({ message }, response) => {
      response.writeHead(202).end();
      if (message.id === undefined) return;
      const result = { protocolVersion: "2024-11-05", capabilities: {} };
      const reply = { jsonrpc: "2.0", id: message.id, result };
      streams.at(-1)?.write(`event: message\ndata: ${JSON.stringify(reply)}\n\n`);
    },
  );
  await using client = mcpClient(mcpHttpLink(server.url), self);
  let tell: (kind: string) => void = () => {};
  const heard = new Promise<string>((resolve) => {
    tell = resolve;
  });
  await using _ = await client.subscribe({ uris: ["test://a"] }, ({ kind }) => tell(kind));
  streams[0]?.end();
  expect(await heard).toBe("gap");
});
