import type { ServerResponse } from "node:http";
import { silentLog, type WireError } from "callwire";
import { type McpClientOptions, mcpClient, mcpHttpLink } from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, test } from "vitest";
import { legacy, type RawServer, rawServer } from "../mcp/client/raw-server.ts";
import { whileTimePasses } from "../passing-time.ts";

// A call whose server was killed failed with CONNECTION_FAILED, which means that it did not run.

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog };

/** A clock that reports when something waits on it. */
class HeardClock extends FakeClock {
  readonly waited: Promise<void>;
  #heard: () => void = () => {};

  constructor() {
    super();
    this.waited = new Promise((resolve) => {
      this.#heard = resolve;
    });
  }

  override after(delayMs: number, run: () => void) {
    this.#heard();
    return super.after(delayMs, run);
  }
}

/** Starts to answer a call of a tool, then breaks all connections and accepts no other. */
async function dying(): Promise<RawServer> {
  const server = await rawServer(
    legacy((request, response: ServerResponse) => {
      if (request.verb === "GET") response.writeHead(405).end();
      else {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("id: 1\nretry: 1000\ndata: \n\n", () => {
          void server[Symbol.asyncDispose]();
        });
      }
    }),
  );
  return server;
}

test("a call whose server was killed is lost, since it may have run", async () => {
  const server = await dying();
  const clock = new FakeClock();
  const link = mcpHttpLink(server.url, { clock, serverStream: false });
  await using client = mcpClient(link, self);
  const call = client.callTool("pay");
  const error = await whileTimePasses(clock, 1_000, call).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "CONNECTION_LOST" });
  expect((error as WireError).cause).toMatchObject({ code: "CONNECTION_FAILED" });
});

test("a call that times out while its server is gone names the loss as the cause", async () => {
  const server = await dying();
  const waiting = new HeardClock();
  const clock = new FakeClock();
  const link = mcpHttpLink(server.url, { clock: waiting, serverStream: false });
  await using client = mcpClient(link, { ...self, clock, timeoutMs: 5_000 });
  const call = client.callTool("pay");
  call.catch(() => {});
  // Only a stream that broke waits on this clock, before it is requested again.
  await waiting.waited;
  clock.advance(6_000);
  await expect(call).rejects.toMatchObject({
    code: "TIMEOUT",
    cause: { code: "CONNECTION_LOST" },
  });
});
