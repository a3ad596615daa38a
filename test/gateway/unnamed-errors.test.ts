import { createServer, type Link, type Log, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { clientOf, start } from "./behind.ts";

type Serve = (server: ReturnType<typeof createServer>) => Promise<() => Link>;

const wires: [string, Serve][] = [
  [
    "TCP",
    async (server) => {
      const { port = 0 } = await serveSocket(server, { port: 0 });
      return () => tcpLink({ port });
    },
  ],
  [
    "WebSocket",
    async (server) => {
      const { url } = await serveHttp(server, { port: 0 });
      return () => webSocketLink(url);
    },
  ],
];

/** A log that keeps the errors it gets. */
function errorLog(): { readonly log: Log; readonly told: unknown[] } {
  const told: unknown[] = [];
  const log: Log = {
    ...silentLog,
    error: (...entry: unknown[]) => void told.push(entry),
  };
  return { log, told };
}

describe.each(wires)("an upstream on %s", (_, serve) => {
  test("that refuses a message without its id is passed on unchanged", async () => {
    const server = createServer(
      { echo: (value: unknown) => value },
      { log: silentLog, limits: { maxMessageBytes: 2_000 } },
    );
    onTestFinished(() => server.close({ drainMs: 0 }));
    const { log, told } = errorLog();
    const gateway = await start(
      {
        upstreams: { one: { targets: { one: await serve(server) }, healthCheck: false } },
        routes: [{ method: "*", to: "one" }],
      },
      { log },
    );
    const client = clientOf(gateway);
    await expect(client.call("echo", ["x".repeat(5_000)])).rejects.toMatchObject({
      code: -32600,
      message: "Invalid Request",
      data: {
        limit: "maxMessageBytes",
        max: 2000,
        details: "a message must have at most 2000 bytes",
      },
    });
    expect(told).toEqual([]);
  });
});

test('an unexpected error of a link is "Upstream failed", and the log has the error', async () => {
  const odd = new RangeError("a fault of this link");
  const links: Record<string, () => Link> = {
    rejects: () => ({
      send: () => Promise.reject(odd),
      sendBatch: (requests) => requests.map(() => Promise.reject(odd)),
      close: () => Promise.resolve(),
    }),
    throws: () => {
      throw odd;
    },
  };
  for (const [name, connect] of Object.entries(links)) {
    const { log, told } = errorLog();
    const gateway = await start(
      {
        upstreams: { one: { targets: { [name]: connect }, healthCheck: false } },
        routes: [{ method: "*", to: "one" }],
      },
      { log, discover: false },
    );
    await expect(clientOf(gateway).call("who")).rejects.toMatchObject({
      code: -32009,
      data: { ran: "unknown", reason: "bad-reply" },
    });
    expect(told).toEqual([
      [
        { upstream: "one", target: name, method: "who", err: odd },
        "a link threw an unexpected error",
      ],
    ]);
  }
});
