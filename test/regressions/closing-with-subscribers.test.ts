import { type Client, createClient, createServer, silentLog, stream, topic } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import { describe, expect, test } from "vitest";
import { ownPort } from "../own-port.ts";

const links = { webSocketLink, httpLink, sseLink };

function news() {
  const items = topic<number>();
  const methods = { news: stream({}, (_, call) => items.subscribe(call)) };
  // The drain time never passes by this clock.
  const server = createServer(methods, { log: silentLog, clock: new FakeClock() });
  return { items, server };
}

/** The first item, and then the rest of the subscription. */
async function begun(client: Client, items: { publish(item: number): void; size: number }) {
  const reading = client.stream("news")[Symbol.asyncIterator]();
  const first = reading.next();
  const subscribed = async (): Promise<void> => {
    while (items.size === 0) await new Promise(setImmediate);
  };
  await subscribed();
  items.publish(1);
  expect(await first).toEqual({ done: false, value: 1 });
  return reading;
}

// It took the whole drain time.
describe("a server with subscribers", () => {
  test.each(Object.entries(links))("closes at once, and reports it over %s", async (_, link) => {
    const { items, server } = news();
    const http = await serveHttp(server, { port: 0 });
    await using client = createClient(link(http.url, { reconnect: false } as object));
    const reading = await begun(client, items);
    const end = expect(reading.next()).rejects.toMatchObject({
      code: -32006,
      data: { ran: true, reason: "stopping" },
    });
    await server.close();
    await end;
    expect(items.size).toBe(0);
  });

  test("closes one of its wires at once, too", async () => {
    const { items, server } = news();
    const http = await serveHttp(server, { port: 0 });
    await using client = createClient(webSocketLink(http.url, { reconnect: false }));
    const reading = await begun(client, items);
    const end = expect(reading.next()).rejects.toMatchObject({ code: -32006 });
    await http.close();
    await end;
  });

  test("is followed by an idempotent subscription to the next server", async () => {
    const port = await ownPort();
    const before = news();
    const first = await serveHttp(before.server, { port });
    const gaps: unknown[] = [];
    await using client = createClient(webSocketLink(first.url), { idempotent: ["news"] });
    const reading = await begun(client.with({ onGap: () => void gaps.push(true) }), before.items);
    const second = reading.next();
    await before.server.close();
    const after = news();
    await using _http = await serveHttp(after.server, { port });
    while (after.items.size === 0) await new Promise(setImmediate);
    after.items.publish(2);
    expect(await second).toEqual({ done: false, value: 2 });
    expect(gaps).toEqual([true]);
    await reading.return?.();
  });
});
