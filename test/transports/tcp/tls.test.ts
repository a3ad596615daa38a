import { readFileSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { createClient, createServer, method, silentLog } from "callwire";
import { connectSocket, type SocketServer, serveSocket, tcpLink } from "callwire/tcp";
import { afterAll, beforeAll, expect, test } from "vitest";
import { spoiledLine } from "../spoiled-line.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url), "utf8");
const cert = fixture("test-only-cert.pem");
const key = fixture("test-only-key.pem");

const server = createServer(
  {
    echo: (value: unknown) => value,
    where: method({}, (_, { transport }) => [transport.kind, transport.remoteAddress]),
  },
  { log: silentLog },
);
let socket: SocketServer;
let port: number;

beforeAll(async () => {
  socket = await serveSocket(server, { port: 0, tls: { cert, key } });
  port = socket.port as number;
});
afterAll(() => server.close());

test("a client that trusts the certificate is served", async () => {
  await using client = createClient(tcpLink(`tls://localhost:${port}`, { tls: { ca: cert } }));
  expect(await client.call("echo", ["hi"])).toBe("hi");
  expect(await client.call("where")).toEqual(["tls", "127.0.0.1"]);
});

test("a client that does not trust it sends nothing", async () => {
  await expect(connectSocket({ port, tls: true })).rejects.toMatchObject({
    code: "CONNECTION_FAILED",
    message: expect.stringMatching(/^cannot connect to tls:\/\/127\.0\.0\.1:\d+: self-signed/),
  });
});

test("versions before TLS 1.2 are refused", async () => {
  const tls = { ca: cert, maxVersion: "TLSv1.1", minVersion: "TLSv1" } as const;
  await expect(connectSocket({ port, tls })).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});

test("a client that never completes its handshake is disconnected, and does not delay closing", async () => {
  const socket = await serveSocket(server, { port: 0, tls: { cert, key } });
  const silent = connectTcp(socket.port as number, "127.0.0.1");
  await new Promise((resolve) => silent.once("connect", resolve));
  const gone = new Promise((resolve) => silent.once("close", resolve));
  await socket.close();
  await gone;
});

test("a server that never completes its handshake fails the connection in time", async () => {
  await using plain = await serveSocket(createServer({}), { port: 0 });
  const connecting = connectSocket({ port: plain.port, tls: true, connectTimeoutMs: 50 });
  await expect(connecting).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
});

test("an option that is not set does not make a call to tls: travel in the open", async () => {
  const client = createClient(tcpLink(`tls://localhost:${port}`, { tls: undefined }));
  await expect(client.call("echo", ["secret"])).rejects.toMatchObject({
    code: "CONNECTION_FAILED",
    message: expect.stringContaining("self-signed"),
  });
  await client.close();
});

test("a corrupted record ends the connection on both sides", async () => {
  const line = await spoiledLine(port);
  const connection = await connectSocket({
    host: "localhost",
    port: line.port,
    tls: { ca: cert },
  });
  expect(await connection.call("echo", ["hi"])).toBe("hi");
  const [served] = [...socket.connections].slice(-1);
  line.spoil();
  await expect(
    connection.call("echo", ["hi"], { timeoutMs: Number.POSITIVE_INFINITY }),
  ).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  expect(await connection.closed).toMatchObject({ code: expect.stringMatching(/^ERR_SSL/) });
  await served?.closed;
});
