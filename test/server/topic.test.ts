import { setTimeout } from "node:timers/promises";
import { createClient, createServer, RpcError, silentLog, stream, topic } from "callwire";
import { memoryPair } from "callwire/connection";
import { expect, test } from "vitest";

function serving(options?: Parameters<typeof topic>[0]) {
  const prices = topic<number>(options);
  const methods = {
    prices: stream({}, (_, call) => prices.subscribe(call)),
    refused: stream({}, () => {
      throw new RpcError(1007, "Not for you");
    }),
  };
  const [link] = memoryPair(undefined, createServer(methods, { log: silentLog }));
  return { prices, api: createClient<typeof methods>(link).api };
}

/** After one round trip the server has received everything that was sent before. */
const exchanged = () => new Promise((resolve) => setImmediate(resolve));

test("every subscriber gets what is published after it subscribed", async () => {
  const { prices, api } = serving();
  const first = api.prices()[Symbol.asyncIterator]();
  const one = first.next();
  await exchanged();
  prices.publish(1);
  expect(await one).toEqual({ done: false, value: 1 });
  const second = api.prices()[Symbol.asyncIterator]();
  const two = second.next();
  await exchanged();
  prices.publish(2);
  expect((await first.next()).value).toBe(2);
  expect((await two).value).toBe(2);
});

test("the end of a topic ends its subscriptions after what was published", async () => {
  const { prices, api } = serving();
  const seen: number[] = [];
  const reading = (async () => {
    for await (const price of api.prices()) seen.push(price);
  })();
  await exchanged();
  prices.publish(1);
  prices.publish(2);
  prices.close();
  await reading;
  expect(seen).toEqual([1, 2]);
  expect(prices.size).toBe(0);
});

test("a subscriber that leaves is forgotten", async () => {
  const { prices, api } = serving();
  const reading = (async () => {
    for await (const _ of api.prices()) break;
  })();
  await exchanged();
  expect(prices.size).toBe(1);
  prices.publish(1);
  await reading;
  await exchanged();
  expect(prices.size).toBe(0);
});

test("a subscriber that leaves before it began to read is forgotten", async () => {
  const prices = topic<number>();
  const methods = {
    // The event before, and then later ones: the topic is joined first, so that no event is missed.
    history: stream({}, async function* (_, call) {
      const news = prices.subscribe(call);
      yield 0;
      await setTimeout(60_000, undefined, { signal: call.signal });
      yield* news;
    }),
  };
  const [link] = memoryPair(undefined, createServer(methods, { log: silentLog }));
  const client = createClient<typeof methods>(link);
  for (let i = 0; i < 3; i++) for await (const _ of client.api.history()) break;
  await exchanged();
  expect(prices.size).toBe(0);
});

test("one that is too slow is no longer a subscriber", () => {
  const prices = topic<number>({ maxQueue: 1 });
  prices.subscribe({ signal: new AbortController().signal });
  prices.publish(1);
  expect([prices.size, prices.waiting]).toEqual([1, 1]);
  prices.publish(2);
  expect([prices.size, prices.waiting]).toEqual([0, 0]);
});

test("publishing after the end of a topic does not drop waiting items", async () => {
  const prices = topic<number>({ maxQueue: 2, onFull: "drop-oldest" });
  const reader = prices.subscribe({ signal: new AbortController().signal });
  for (const price of [1, 2]) prices.publish(price);
  prices.close();
  prices.publish(3);
  const seen: number[] = [];
  for await (const price of reader) seen.push(price);
  expect(seen).toEqual([1, 2]);
});

test("a subscription can be refused", async () => {
  const { api } = serving();
  await expect(api.refused()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 1007 });
});

test("a subscriber that falls behind is ended with an error, and the others are not", () => {
  const prices = topic<number>({ maxQueue: 2 });
  const signal = new AbortController().signal;
  const slow = prices.subscribe({ signal })[Symbol.asyncIterator]();
  for (let price = 1; price <= 3; price++) prices.publish(price);
  const other = prices.subscribe({ signal })[Symbol.asyncIterator]();
  prices.publish(4);
  return Promise.all([
    expect(slow.next()).resolves.toEqual({ done: false, value: 1 }),
    expect(slow.next()).resolves.toEqual({ done: false, value: 2 }),
    expect(slow.next()).rejects.toMatchObject({ message: "Subscriber too slow" }),
    expect(other.next()).resolves.toEqual({ done: false, value: 4 }),
  ]);
});

test("a subscriber may lose the oldest instead", async () => {
  const prices = topic<number>({ maxQueue: 2, onFull: "drop-oldest" });
  const reader = prices.subscribe({ signal: new AbortController().signal })[Symbol.asyncIterator]();
  for (let price = 1; price <= 4; price++) prices.publish(price);
  expect([(await reader.next()).value, (await reader.next()).value]).toEqual([3, 4]);
});
