import { createServer, silentLog } from "callwire";
import { type CloudEventsOptions, cloudEvents } from "callwire/cloudevents";
import { serveHttp } from "callwire/http/node";
import { expect, onTestFinished, test } from "vitest";

// The formats that Dapr documents for its subscriptions and deliveries.

async function serving(options: CloudEventsOptions) {
  const taken: unknown[] = [];
  const orders = {
    created: (data: unknown) => void taken.push(data),
    paid: (data: unknown) => void taken.push({ paid: data }),
    broken: () => {
      throw new Error("no database");
    },
  };
  const server = createServer({ orders }, { log: silentLog });
  const http = await serveHttp(server, { port: 0, mounts: cloudEvents(server, options) });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const at = (path: string): URL => new URL(path, http.url);
  const post = async (
    path: string,
    body: unknown,
    headers: Record<string, string> = { "content-type": "application/json" },
  ): Promise<[number, unknown]> => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const response = await fetch(at(path), { method: "POST", headers, body: text });
    return [response.status, await response.json()];
  };
  return { taken, at, post };
}

const orders = { pubsub: "bus", topic: "orders", method: "orders/created" };
const created = "/events/orders%2Fcreated";

/** An event as Dapr wraps it. */
const wrapped = (id: string, rest: object): object => ({
  specversion: "1.0",
  id,
  source: "shop",
  type: "com.dapr.event.sent",
  pubsubname: "bus",
  topic: "orders",
  ...rest,
});

test("Dapr gets the subscriptions with routes, metadata, bulk and dead letters", async () => {
  const { at } = await serving({
    subscriptions: [
      {
        ...orders,
        routes: [{ match: 'event.type == "paid"', method: "orders/paid" }],
        bulk: { maxMessages: 50, maxAwaitMs: 40 },
        raw: true,
        metadata: { consumerGroup: "g1" },
        deadLetterTopic: "poison",
      },
      { ...orders, topic: "plain", bulk: true },
    ],
  });
  expect(await (await fetch(at("/dapr/subscribe"))).json()).toEqual([
    {
      pubsubname: "bus",
      topic: "orders",
      routes: {
        rules: [{ match: 'event.type == "paid"', path: "/events/orders%2Fpaid" }],
        default: created,
      },
      deadLetterTopic: "poison",
      metadata: { consumerGroup: "g1", rawPayload: "true" },
      bulkSubscribe: { enabled: true, maxMessagesCount: 50, maxAwaitDurationMs: 40 },
    },
    { pubsubname: "bus", topic: "plain", route: created, bulkSubscribe: { enabled: true } },
  ]);
});

test("events reach the methods of routes", async () => {
  const routes = [{ match: 'event.type == "paid"', method: "orders/paid" }];
  const { post, taken } = await serving({ subscriptions: [{ ...orders, routes }] });
  const headers = { "content-type": "application/cloudevents+json" };
  const event = wrapped("e1", { data: { order: 1 } });
  expect(await post("/events/orders%2Fpaid", event, headers)).toEqual([200, { status: "SUCCESS" }]);
  expect(taken).toEqual([{ paid: { order: 1 } }]);
});

test("each entry of a bulk delivery has its own outcome, in the order of the entries", async () => {
  const subscriptions = [
    { ...orders, bulk: true },
    { ...orders, method: "orders/broken" },
  ];
  const { post, taken } = await serving({ subscriptions });
  const contentType = "application/cloudevents+json";
  const entries = [
    { entryId: "a", event: wrapped("1", { data: { order: 1 } }), contentType, metadata: {} },
    { entryId: "b", event: { specversion: "0.3" }, contentType },
    {
      entryId: "c",
      event: wrapped("3", { data: "text", datacontenttype: "text/plain" }),
      contentType,
    },
    {
      entryId: "d",
      event: Buffer.from('{"order":4}').toString("base64"),
      contentType: "application/octet-stream",
    },
    { entryId: "e", event: { order: 5 }, contentType: "application/json" },
    { entryId: "f", event: "plain", contentType: "text/plain" },
  ];
  const bulk = {
    id: "b1",
    entries,
    pubsubname: "bus",
    topic: "orders",
    type: "com.dapr.event.sent.bulk",
  };
  expect(await post(created, bulk)).toEqual([
    200,
    {
      statuses: [
        { entryId: "a", status: "SUCCESS" },
        { entryId: "b", status: "DROP" },
        { entryId: "c", status: "SUCCESS" },
        { entryId: "d", status: "SUCCESS" },
        { entryId: "e", status: "SUCCESS" },
        { entryId: "f", status: "SUCCESS" },
      ],
    },
  ]);
  expect(taken).toEqual([{ order: 1 }, "text", { order: 4 }, { order: 5 }, "plain"]);
  const [, answer] = await post("/events/orders%2Fbroken", { entries: entries.slice(0, 2) });
  expect(answer).toEqual({
    statuses: [
      { entryId: "a", status: "RETRY" },
      { entryId: "b", status: "DROP" },
    ],
  });
});

test("a raw payload is the data, as JSON, as text or as base64", async () => {
  const { post, taken } = await serving({ subscriptions: [{ ...orders, raw: true }] });
  const headers = { "content-type": "application/cloudevents+json" };
  const bytes = (data: string | Uint8Array) =>
    wrapped("e1", {
      datacontenttype: "application/octet-stream",
      data_base64: Buffer.from(data).toString("base64"),
    });
  for (const data of ['{"order":1}', "hello", new Uint8Array([0xff, 0xfe])]) {
    expect(await post(created, bytes(data), headers)).toEqual([200, { status: "SUCCESS" }]);
  }
  expect(await post(created, { order: 2 })).toEqual([200, { status: "SUCCESS" }]);
  const text = { "content-type": "text/plain" };
  expect(await post(created, "as it is", text)).toEqual([200, { status: "SUCCESS" }]);
  expect(taken).toEqual([{ order: 1 }, "hello", "//4=", { order: 2 }, "as it is"]);
});

test("a payload that is not an event is refused without a subscription to raw ones", async () => {
  const { post, taken } = await serving({ subscriptions: [orders] });
  expect((await post(created, { order: 1 }))[0]).toBe(400);
  expect(taken).toEqual([]);
});

test("with a token, only the sidecar that has it can deliver", async () => {
  const { post, at, taken } = await serving({ subscriptions: [orders], apiToken: "s3cret" });
  const event = wrapped("e1", { data: { order: 1 } });
  const type = { "content-type": "application/cloudevents+json" };
  expect((await post(created, event, type))[0]).toBe(401);
  expect((await post(created, event, { ...type, "dapr-api-token": "s3cre" }))[0]).toBe(401);
  expect((await fetch(at("/dapr/subscribe"))).status).toBe(401);
  expect(taken).toEqual([]);
  const [status] = await post(created, event, { ...type, "dapr-api-token": "s3cret" });
  expect([status, taken]).toEqual([200, [{ order: 1 }]]);
});
