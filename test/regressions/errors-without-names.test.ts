import { createClient, createServer, RemoteError, RpcError, stream } from "callwire";
import { memoryPair } from "callwire/connection";
import { httpLink } from "callwire/http";
import { sseLink } from "callwire/sse";
import { webSocketLink } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { serve } from "../transports/http/wire.ts";

describe("an error of a server", () => {
  const fail = (): never => {
    throw new RpcError(1404, "Not found");
  };
  const server = createServer({ tasks: { get: fail, watch: stream({}, fail) } });

  test("names the method that was called", async () => {
    const [near] = memoryPair(undefined, server);
    const client = createClient<typeof server.api>(near);
    const expected = { code: 1404, message: "Not found", method: "tasks/get" };
    await expect(client.call("tasks/get")).rejects.toMatchObject(expected);
    await expect(near.call("tasks/get")).rejects.toMatchObject(expected);
    await expect(client.batch((b) => [b.tasks.get()])).rejects.toMatchObject(expected);
    const reading = client.stream("tasks/watch")[Symbol.asyncIterator]();
    await expect(reading.next()).rejects.toMatchObject({ ...expected, method: "tasks/watch" });
    const error = await client.call("tasks/get").catch((thrown: unknown) => thrown as RemoteError);
    expect(error).toBeInstanceOf(RemoteError);
    expect(error).toEqual(new RpcError(1404, "Not found"));
  });
});

test.each(Object.entries({ httpLink, sseLink }))(
  "a reply that is too large for %s names the option",
  async (_, link) => {
    const http = await serve({ long: () => "x".repeat(2000) });
    await using client = createClient(link(http.url, { maxReplyBytes: 1000 }));
    await expect(client.call("long")).rejects.toThrow("(maxReplyBytes)");
  },
);

test("a reply that is too large for a connection names the limit", async () => {
  const http = await serve({ long: () => "x".repeat(3000) });
  const limits = { maxMessageBytes: 1000, maxReplyLength: 2000 };
  await using client = createClient(webSocketLink(http.url, { limits, reconnect: false }));
  await expect(client.call("long")).rejects.toThrow(/limits\.maxReplyLength/);
});
