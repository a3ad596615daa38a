import { createClient, createServer, stream, topic } from "callwire";
import { serveSocket, tcpLink } from "callwire/tcp";
import { expect, test } from "vitest";

// Only the first item of a turn had to wait. The system accepted it at once, and the second stream
// was not notified.
test("long items that are ready together all arrive over one connection", async () => {
  const news = topic<string>();
  const server = createServer(
    { news: stream({}, (_, call) => news.subscribe(call)) },
    { limits: { maxBufferedBytes: 40_000 } },
  );
  await using served = await serveSocket(server, { port: 0 });
  await using client = createClient(tcpLink({ port: served.port as number }));
  const readers = Array.from({ length: 3 }, () =>
    client.stream<string>("news")[Symbol.asyncIterator](),
  );
  await expect.poll(() => news.size).toBe(3);
  for (let round = 0; round < 3; round++) {
    const item = `${round}`.repeat(20_000);
    news.publish(item);
    for (const reader of readers) expect((await reader.next()).value).toBe(item);
  }
});
