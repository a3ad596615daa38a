import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { createServer } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/tls/test-only-${name}.pem`, import.meta.url), "utf8");
const tls = { cert: fixture("cert"), key: fixture("key"), handshakeTimeout: 20 };

const serves = [
  ["HTTPS", () => serveHttp(createServer({}), { port: 0, tls })],
  ["TLS sockets", () => serveSocket(createServer({}), { port: 0, tls })],
] as const;

// Node emits an event and leaves the connection open, so that it counted forever.
test.for(serves)(
  "%s: a client that does not finish the handshake is disconnected",
  async ([, serve]) => {
    const server = await serve();
    onTestFinished(() => server.close());
    for (const bytes of [[], [0x16, 3, 1, 2, 0, 1]]) {
      const socket = connect(server.port ?? 0, "127.0.0.1").resume();
      socket.write(Buffer.from(bytes));
      await new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
      expect(socket.destroyed).toBe(true);
    }
  },
);

// Node's limit starts again with each byte.
test.for(serves)("%s: nor may the handshake take longer byte by byte", async ([, serve]) => {
  const server = await serve();
  onTestFinished(() => server.close());
  const socket = connect(server.port ?? 0, "127.0.0.1").resume();
  const record = Buffer.alloc(10_000, 1);
  record.set([0x16, 3, 1, 0x3f, 0xff]);
  let sent = 0;
  const drip = setInterval(() => socket.write(record.subarray(sent, ++sent)), 2);
  await new Promise((resolve) => socket.on("error", () => {}).on("close", resolve));
  clearInterval(drip);
  expect(sent).toBeLessThan(10_000);
});
