import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createClient } from "../../../src/client/client.ts";
import { httpLink, type NodeHttpLinkOptions } from "../../../src/transports/http/undici-link.ts";

type Answer = (id: number, socket: Socket, connection: number) => void;

/** A server whose answers the test writes, and a client of it. */
async function answering(answer: Answer, options?: NodeHttpLinkOptions) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const connection = sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      const [, id] = /"id":(\d+)/.exec(chunk.toString()) ?? [];
      answer(Number(id), socket, connection);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createClient(httpLink(`http://127.0.0.1:${port}/rpc`, options));
  onTestFinished(async () => {
    await client.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { client, sockets };
}

function reply(id: number, result: unknown, ...headers: string[]): string {
  const body = JSON.stringify({ jsonrpc: "2.0", result, id });
  const lines = ["HTTP/1.1 200 OK", "Content-Type: application/json", ...headers];
  return `${lines.join("\r\n")}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

test("calls share a connection", async () => {
  const { client } = await answering((id, socket, connection) => {
    socket.write(reply(id, `connection ${connection}, grüße`));
  });
  for (let i = 0; i < 3; i++) expect(await client.call("a")).toBe("connection 1, grüße");
});

test("a reply may come in pieces", async () => {
  const { client } = await answering((id, socket, connection) => {
    socket.setNoDelay(true);
    const text = reply(id, `${connection}${"x".repeat(100_000)}`);
    socket.write(text.slice(0, -70_000), () =>
      setImmediate(() => socket.write(text.slice(-70_000))),
    );
  });
  for (let i = 0; i < 3; i++) expect(await client.call("a")).toHaveLength(100_001);
});

test.each([
  ["in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked", true],
  ["of HTTP/1.0", "HTTP/1.0 200 OK", false],
  ["after a hint", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK", false],
])("a reply %s is read, and so is the next", async (_, head, isChunked) => {
  const { client } = await answering((id, socket) => {
    const body = JSON.stringify({ jsonrpc: "2.0", result: id, id });
    const sent = isChunked ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body;
    socket.end(`${head}\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n${sent}`);
  });
  for (let i = 0; i < 3; i++) expect(await client.call("a")).toEqual(expect.any(Number));
});

test("a connection is not used again after more bytes than announced", async () => {
  const { client } = await answering((id, socket, connection) => {
    socket.write(reply(id, connection) + reply(id + 1, "smuggled"));
  });
  expect(await client.call("a")).toBe(1);
  expect(await client.call("a")).toBe(2);
});

test("a connection is not used again after bytes that were not requested", async () => {
  const { client, sockets } = await answering((id, socket, connection) => {
    socket.write(reply(id, connection));
  });
  expect(await client.call("a")).toBe(1);
  const closed = new Promise((resolve) => sockets[0]?.once("close", resolve));
  sockets[0]?.write(reply(2, "smuggled"));
  await closed;
  expect(await client.call("a")).toBe(2);
});

test.each(["Connection: close", "Keep-Alive: timeout=2"])(
  "a connection is not used again after %s",
  async (header) => {
    const { client } = await answering((id, socket, connection) => {
      socket.write(reply(id, connection, header));
    });
    expect(await client.call("a")).toBe(1);
    expect(await client.call("a")).toBe(2);
  },
);

test("a call whose connection breaks may have run", async () => {
  const { client } = await answering((id, socket) => {
    socket.end(reply(id, "x").slice(0, -3));
  });
  await expect(client.call("a")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
});

test("a cancelled call closes its connection, and the next call is not affected", async () => {
  const { client } = await answering((id, socket, connection) => {
    if (connection > 1) socket.write(reply(id, connection));
    else controller.abort();
  });
  const controller = new AbortController();
  const { signal } = controller;
  await expect(client.call("a", undefined, { signal })).rejects.toThrow();
  expect(await client.call("a")).toBe(2);
});

test("calls wait for a free connection, in order", async () => {
  const order: number[] = [];
  const answer: Answer = (id, socket) => {
    order.push(id);
    socket.write(reply(id, id));
  };
  const { client, sockets } = await answering(answer, { connections: 2 });
  const ids = await Promise.all(Array.from({ length: 20 }, () => client.call("a")));
  expect(order).toEqual(ids);
  expect(sockets).toHaveLength(2);
});

test("calls that wait are sent over a new connection if theirs breaks", async () => {
  const answer: Answer = (id, socket, connection) => {
    if (connection === 1) socket.destroy();
    else socket.write(reply(id, connection));
  };
  const { client } = await answering(answer, { connections: 1 });
  const calls = Array.from({ length: 3 }, () => client.call("a").catch(({ code }) => code));
  expect(await Promise.all(calls)).toEqual(["CONNECTION_LOST", 2, 2]);
});

test.each([
  ["a tool traces undici", {}, true],
  ["the fast path is off", { fastPath: false }, false],
])("undici sends calls if %s", async (_, options, isTraced) => {
  const { client } = await answering((id, socket) => socket.write(reply(id, "x")), options);
  const seen: unknown[] = [];
  const listener = (message: unknown): number => seen.push(message);
  if (isTraced) subscribe("undici:request:create", listener);
  expect(await client.call("a")).toBe("x");
  if (isTraced) {
    unsubscribe("undici:request:create", listener);
    expect(seen).toHaveLength(1);
  }
});
