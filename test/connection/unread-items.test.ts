import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { createClient, createServer, silentLog, stream } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";

/**
 * A server that answers the first call with this many items of 100 characters at once, and ignores
 * credit.
 */
async function careless(count: number): Promise<number> {
  const server = createTcpServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk) => {
      const { id } = JSON.parse(chunk.toString());
      const params = { id, value: "x".repeat(100) };
      const item = `${JSON.stringify({ jsonrpc: "2.0", method: "$/stream", params })}\n`;
      socket.write(item.repeat(count));
      socket.write(`${JSON.stringify({ jsonrpc: "2.0", result: null, id })}\n`);
    });
    onTestFinished(() => void socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

// 64 of the longest messages are 12,800 characters.
const limits = { maxMessageBytes: 200 };

async function read(port: number): Promise<unknown[]> {
  await using client = createClient(tcpLink({ port, limits, log: silentLog }));
  const items: unknown[] = [];
  for await (const item of client.stream("m")) items.push(item);
  return items;
}

test("long items without credit end a stream before they fill memory", async () => {
  await expect(read(await careless(200))).rejects.toMatchObject({
    code: "TOO_LARGE",
    message: "m sent more than 12800 characters ahead of its reader",
  });
});

test("some items without credit do no harm", async () => {
  expect(await read(await careless(70))).toHaveLength(70);
});

test("items within the credit may be long, however slow their reader is", async () => {
  const server = createServer(
    {
      m: stream({}, function* () {
        for (let i = 0; i < 500; i++) yield "x".repeat(1000);
      }),
    },
    { log: silentLog },
  );
  onTestFinished(() => server.close());
  const { port } = await serveSocket(server, { port: 0 });
  expect(await read(port as number)).toHaveLength(500);
});
