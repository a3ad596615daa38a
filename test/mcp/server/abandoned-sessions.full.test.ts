import { once } from "node:events";
import { connect } from "node:net";
import { createServer, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { mcpMounts, mcpServer } from "callwire/mcp";
import { expect, onTestFinished, test } from "vitest";
import { collect } from "../../heap.ts";
import { request } from "./asking.ts";

test("ten thousand sessions that were opened and abandoned take little memory, and no more", async () => {
  const info = { name: "test", version: "1", log: silentLog };
  const server = mcpServer({ add: (a: number, b: number) => a + b }, info);
  const mounts = mcpMounts(server, { sessions: { max: 5_000 } });
  const http = await serveHttp(createServer({}), { port: 0, mounts });
  onTestFinished(() => http.close());
  const { port } = http;
  const socket = connect(port, "127.0.0.1").setEncoding("latin1");
  const body = JSON.stringify(
    request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: { sampling: {}, elicitation: {}, roots: {} },
      clientInfo: { name: "test", version: "1" },
    }),
  );
  const initialize =
    `POST /mcp HTTP/1.1\r\nhost: localhost:${port}\r\ncontent-type: application/json\r\n` +
    `accept: application/json, text/event-stream\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  // Pipelined, because the server is measured.
  const open = async (count: number): Promise<void> => {
    let unread = "";
    for (let opened = 0, sent = 0; opened < count; ) {
      if (sent === opened) {
        socket.write(initialize.repeat(100));
        sent += 100;
      }
      const [text] = (await once(socket, "data")) as [string];
      const parts = (unread + text).split("mcp-session-id: ");
      unread = parts.pop() ?? "";
      opened += parts.length;
    }
  };
  // Connections and code are warm before the measurement.
  await open(500);
  const before = await heapUsed();
  await open(5_000);
  const full = await heapUsed();
  expect((full - before) / 5_000).toBeLessThan(20_000);
  await open(5_000);
  expect(((await heapUsed()) - full) / 2 ** 20).toBeLessThan(8);
  socket.destroy();
}, 60_000);

/** After a garbage collection. */
async function heapUsed(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    collect();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return process.memoryUsage().heapUsed;
}
