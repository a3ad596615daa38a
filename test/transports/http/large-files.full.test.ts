import { createHash } from "node:crypto";
import { byteStream, createClient, createServer, method } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { z } from "zod";

const length = 2 * 1024 ** 3;
const chunk = createHash("sha512").update("callwire").digest();
const block = new Uint8Array(65_536).map((_, i) => chunk[i % chunk.length] as number);

/** Two gigabytes, which exist only as far as they are read. */
function large(): ReadableStream<Uint8Array> {
  let left = length;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        left -= block.length;
        controller.enqueue(block.slice());
        if (left === 0) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

async function hashOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const hash = createHash("sha1");
  for await (const part of stream) hash.update(part);
  return hash.digest("hex");
}

const links = {
  HTTP: (port: number) => httpLink(`http://127.0.0.1:${port}/rpc`),
  WebSocket: (port: number) => webSocketLink(`ws://127.0.0.1:${port}/rpc`),
};

test.each(Object.entries(links))(
  "two gigabytes go to a server and back over %s, and take little memory",
  async (_, linkTo) => {
    const methods = {
      hash: method(
        {
          params: z.object({ bytes: z.instanceof(ReadableStream<Uint8Array>) }),
          limits: { maxFileBytes: length },
          timeoutMs: 600_000,
        },
        ({ bytes }) => hashOf(bytes),
      ),
      large: method({ result: byteStream() }, large),
    };
    await using server = createServer(methods);
    const { port } = await serveHttp(server, { port: 0, requestTimeoutMs: 600_000 });
    await using client = createClient<typeof methods>(linkTo(port), {
      values: "rich",
      timeoutMs: 600_000,
    });
    const expected = await hashOf(large());
    let most = 0;
    const idle = process.memoryUsage.rss();
    const timer = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss() - idle);
    }, 50);
    try {
      expect(await client.api.hash({ bytes: large() })).toBe(expected);
      expect(await hashOf(await client.api.large())).toBe(expected);
    } finally {
      clearInterval(timer);
    }
    // Client and server share the process.
    expect(Math.round(most / 1_000_000)).toBeLessThan(80);
  },
  600_000,
);
