/** Strangers cannot fill a log by doing the same on one connection after the other. */
import { once } from "node:events";
import { connect } from "node:net";
import { createServer, type Log, silentLog } from "callwire";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { RawClient, serve } from "../transports/http/wire.ts";

function collecting(): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  const warn = (_: object, message?: string): void => void lines.push(message ?? "");
  return { log: { ...silentLog, warn }, lines };
}

test("peers that do not send JSON-RPC are logged once a minute", async () => {
  const { log, lines } = collecting();
  const tcp = await serveSocket(createServer({}, { log }), { port: 0 });
  onTestFinished(() => tcp.close());
  for (let i = 0; i < 3; i++) {
    const socket = connect(tcp.port as number, "127.0.0.1").resume();
    socket.write("x\n".repeat(10));
    await once(socket, "close");
  }
  expect(lines).toEqual(["closed a connection whose peer does not send JSON-RPC"]);
});

test("bodies that take too much memory are logged once a minute", async () => {
  const { log, lines } = collecting();
  const { port } = await serve({}, {}, { log, maxWireBytes: 20_000 });
  for (let i = 0; i < 3; i++) {
    const client = new RawClient(port);
    client.write(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
        `Content-Length: 90000\r\n\r\n${"x".repeat(50_000)}`,
    );
    await client.until((text) => text.includes("503"));
  }
  expect(lines).toEqual(["refused a request because all connections buffer too much"]);
});
