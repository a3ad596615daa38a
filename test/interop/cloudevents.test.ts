/** Deliveries of events, made with the `cloudevents` package as brokers make them. */
import { createServer, method, RpcError, silentLog } from "callwire";
import { cloudEvents } from "callwire/cloudevents";
import { serveHttp } from "callwire/http/node";
import { CloudEvent, HTTP } from "cloudevents";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { describeWith } from "../services.ts";

async function serving(subscribed = false) {
  const taken: unknown[] = [];
  const server = createServer(
    {
      orders: {
        created: method({ params: z.object({ order: z.number() }) }, (params, call) => {
          taken.push({ ...params, id: call.id, source: call.transport.headers["ce-source"] });
        }),
      },
      note: (text: unknown) => void taken.push(text),
      fail: () => {
        throw new Error("secret");
      },
      reject: () => {
        throw new RpcError(1001, "Not today");
      },
    },
    { log: silentLog, limits: { maxMessageBytes: 4096 } },
  );
  const http = await serveHttp(server, {
    port: 0,
    mounts: cloudEvents(server, {
      subscriptions: subscribed
        ? [{ pubsub: "bus", topic: "orders", method: "orders/created", deadLetterTopic: "dead" }]
        : [],
    }),
  });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const origin = http.url.replace("/rpc", "");
  const post = async (path: string, headers: object, body: unknown) => {
    const response = await fetch(origin + path, {
      method: "POST",
      headers: headers as Record<string, string>,
      body: body as string,
    });
    return { status: response.status, body: await response.json() };
  };
  return { origin, taken, post };
}

const event = (type: string, data: unknown) =>
  new CloudEvent({ id: "e1", source: "/shop", type, data });

/** The package writes data of bytes as `data_base64`. */
const encoded = (type: string, text: string, datacontenttype: string | undefined) => {
  const members = datacontenttype === undefined ? {} : { datacontenttype };
  return new CloudEvent({ id: "e1", source: "/shop", type, data: Buffer.from(text), ...members });
};

describeWith(["npm peers"], "CloudEvents", () => {
  test.each(["structured", "binary"] as const)("the %s form calls a method", async (form) => {
    const { post, taken } = await serving();
    const { headers, body } = HTTP[form](event("orders/created", { order: 7 }));
    expect(await post("/events", headers, body)).toEqual({
      status: 200,
      body: { status: "SUCCESS" },
    });
    expect(taken).toEqual([{ order: 7, id: "e1", source: "/shop" }]);
  });

  test("the method may be in the path, where its slash is escaped", async () => {
    const { post, taken } = await serving();
    const { headers, body } = HTTP.binary(event("com.example.order", { order: 8 }));
    await post("/events/orders%2Fcreated", headers, body);
    expect(taken).toEqual([{ order: 8, id: "e1", source: "/shop" }]);
  });

  test("several events arrive in one request", async () => {
    const { post, taken } = await serving();
    const batch = [1, 2].map((order) => event("orders/created", { order }).toJSON());
    const headers = { "content-type": "application/cloudevents-batch+json" };
    expect((await post("/events", headers, JSON.stringify(batch))).status).toBe(200);
    expect(taken).toHaveLength(2);
  });

  test("publishers cannot choose other methods", async () => {
    const { post, taken } = await serving(true);
    for (const type of ["note", "rpc.discover"]) {
      const { headers, body } = HTTP.structured(event(type, ["chosen"]));
      expect(await post("/events", headers, body)).toEqual({
        status: 200,
        body: { status: "DROP" },
      });
    }
    expect(taken).toEqual([]);
  });

  test("data that is not an object is the only param", async () => {
    const { post, taken } = await serving();
    const { headers, body } = HTTP.structured(event("note", "hello"));
    await post("/events", headers, body);
    const text = HTTP.binary(
      new CloudEvent({
        id: "2",
        source: "/",
        type: "note",
        datacontenttype: "text/plain",
        data: "plain",
      }),
    );
    await post("/events", text.headers, text.body);
    expect(taken).toEqual(["hello", "plain"]);
  });

  test.each([
    ["JSON", "application/json", '{"order":13}'],
    ["JSON of a special kind", "application/vnd.shop+json; charset=utf-8", '{"order":13}'],
    ["JSON, as nothing else is said", undefined, '{"order":13}'],
  ])("bytes in base64 are decoded: %s", async (_, datacontenttype, text) => {
    const { post, taken } = await serving();
    const { headers, body } = HTTP.structured(encoded("orders/created", text, datacontenttype));
    expect(body).toContain('"data_base64":"eyJvcmRlciI6MTN9"');
    expect(await post("/events", headers, body)).toEqual({
      status: 200,
      body: { status: "SUCCESS" },
    });
    expect(taken).toEqual([{ order: 13, id: "e1", source: "/shop" }]);
  });

  test("bytes in base64 that are not JSON are text, as in the binary form", async () => {
    const { post, taken } = await serving();
    const source = encoded("note", "<näh/>", "application/xml");
    for (const form of ["structured", "binary"] as const) {
      const { headers, body } = HTTP[form](source);
      expect((await post("/events", headers, body)).status).toBe(200);
    }
    const batch = JSON.stringify([source.toJSON()]);
    await post("/events", { "content-type": "application/cloudevents-batch+json" }, batch);
    expect(taken).toEqual(["<näh/>", "<näh/>", "<näh/>"]);
  });

  test.each([
    ["base64", { data_base64: "eyJv*mRlciI6MTN9" }],
    ["base64", { data_base64: 13 }],
    ["JSON", { data_base64: "eyJvcmRlciI6" }],
    ["UTF-8", { data_base64: "/w==", datacontenttype: "image/png" }],
    ["both data and data_base64", { data_base64: "eyJvcmRlciI6MTN9", data: { order: 13 } }],
  ])("data_base64 that is wrong is refused: %s", async (said, members) => {
    const { post, taken } = await serving();
    const event = { specversion: "1.0", id: "e1", source: "/", type: "orders/created", ...members };
    const headers = { "content-type": "application/cloudevents+json" };
    const { status, body } = await post("/events", headers, JSON.stringify(event));
    expect(status).toBe(400);
    expect(body.error).toContain(said);
    expect(taken).toEqual([]);
  });

  test("events that can never be handled are dropped, and failed ones are delivered again", async () => {
    const { post } = await serving();
    const outcome = async (type: string, data: unknown) => {
      const { headers, body } = HTTP.structured(event(type, data));
      return post("/events", headers, body);
    };
    const drop = { status: 200, body: { status: "DROP" } };
    expect(await outcome("no/such", {})).toEqual(drop);
    expect(await outcome("orders/created", { order: "7" })).toEqual(drop);
    const retry = { status: 503, body: { status: "RETRY" } };
    expect(await outcome("fail", {})).toEqual(retry);
    expect(await outcome("reject", {})).toEqual(retry);
  });

  test.each<[string, Record<string, string>, string, number]>([
    ["no event at all", { "content-type": "application/json" }, "{}", 400],
    [
      "another version",
      { "content-type": "application/cloudevents+json" },
      '{"specversion":"0.3"}',
      400,
    ],
    ["no id", { "content-type": "application/cloudevents+json" }, '{"specversion":"1.0"}', 400],
    ["no JSON", { "content-type": "application/cloudevents+json" }, "{", 400],
    ["a batch that is none", { "content-type": "application/cloudevents-batch+json" }, "{}", 400],
    ["another format", { "content-type": "application/cloudevents+avro" }, "x", 400],
    ["too much", { "content-type": "application/cloudevents+json" }, `"${"x".repeat(5000)}"`, 413],
  ])("%s is refused", async (_, headers, body, status) => {
    const { post, taken } = await serving();
    const answer = await post("/events", headers, body);
    expect(answer.status).toBe(status);
    expect(answer.body.error).toEqual(expect.any(String));
    expect(taken).toEqual([]);
  });
});

describeWith(["npm peers"], "Dapr", () => {
  test("gets the subscriptions and their routes", async () => {
    const { origin } = await serving(true);
    const response = await fetch(`${origin}/dapr/subscribe`);
    expect(await response.json()).toEqual([
      {
        pubsubname: "bus",
        topic: "orders",
        route: "/events/orders%2Fcreated",
        deadLetterTopic: "dead",
      },
    ]);
  });

  test("reaches methods by invoking the service", async () => {
    const { origin, taken } = await serving();
    // The sidecar forwards the caller's body, with its own headers.
    const response = await fetch(`${origin}/rpc`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "dapr-app-id": "shop",
        "dapr-callee-app-id": "shop",
        "dapr-caller-app-id": "till",
        "x-forwarded-for": "10.1.0.4",
        "x-forwarded-host": "till-0",
        traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      },
      body: '{"jsonrpc":"2.0","method":"note","params":["invoked"],"id":1}',
    });
    expect(await response.json()).toEqual({ jsonrpc: "2.0", result: null, id: 1 });
    expect(taken).toEqual(["invoked"]);
  });
});
