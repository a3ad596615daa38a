/** The stream on which a server of the legacy era sends messages outside of requests. */
import type { ServerResponse } from "node:http";
import { silentLog } from "callwire";
import {
  type McpClientOptions,
  mcpClient,
  mcpHttpLink,
  type SubscriptionFilter,
} from "callwire/mcp/client";
import { FakeClock } from "callwire/testing";
import { expect, onTestFinished, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { json, legacy, modern, type RawRequest, rawServer, result } from "./raw-server.ts";

const self: McpClientOptions = { name: "test", version: "1.0.0", log: silentLog, era: "legacy" };

const stopping = {
  code: -32006,
  message: "Server is shutting down",
  data: { ran: false, reason: "stopping" },
};

/** A server whose streams a test opens by hand; all other requests are answered at once. */
async function serverWithStreams() {
  const waiting: ServerResponse[] = [];
  let wake: () => void = () => {};
  let [refusals, cuts] = [0, 0];
  let refused: number | undefined;
  const answer = legacy((request, response) => {
    if (request.verb !== "GET") return result(response, request, { tools: [] });
    waiting.push(response);
    wake();
  });
  const server = await rawServer((request, response) => {
    const { method } = request.message;
    if (method === "initialize" && refusals-- > 0) response.writeHead(503).end();
    else if (method === "resources/subscribe" && refused) response.writeHead(refused).end();
    else if (method !== "resources/subscribe" || cuts-- <= 0) answer(request, response);
    // As a server does that crashes, and then one that shuts down.
    else if (cuts > 0) response.destroy();
    else json(response, { jsonrpc: "2.0", id: request.message.id, error: stopping }, 503);
  });
  const asked = async (): Promise<ServerResponse> => {
    for (;;) {
      const stream = waiting.shift();
      if (stream !== undefined) return stream;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  const open = async (): Promise<ServerResponse> => {
    const stream = await asked();
    stream.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    return stream;
  };
  const refuseGreetings = (count: number): void => {
    refusals = count;
  };
  const cutSubscribing = (count: number): void => {
    cuts = count;
  };
  const refuseSubscribing = (status: number): void => {
    refused = status;
  };
  return { server, asked, open, refuseGreetings, cutSubscribing, refuseSubscribing };
}

/** What a subscription receives, in order. */
function listening() {
  const heard: string[] = [];
  let wake: () => void = () => {};
  return {
    listener: ({ kind }: { kind: string }) => {
      heard.push(kind);
      wake();
    },
    async upTo(count: number): Promise<string[]> {
      while (heard.length < count) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return heard;
    },
  };
}

/** A client that has subscribed to changes of such a server. */
async function subscribing(filter: SubscriptionFilter = { tools: true }) {
  const streams = await serverWithStreams();
  const { server } = streams;
  const clock = new FakeClock();
  const client = mcpClient(mcpHttpLink(server.url, { clock }), { ...self, clock });
  const { listener, upTo } = listening();
  const subscribed = client.subscribe(filter, listener);
  const close = async (): Promise<void> => {
    await client[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  };
  return { ...streams, clock, client, upTo, subscribed, [Symbol.asyncDispose]: close };
}

const changed = `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n`;

test("requests do not wait for a stream that is not answered", async () => {
  const { server, asked } = await serverWithStreams();
  await using _ = server;
  // Its time stands still, so a wait would never end.
  const wire = mcpHttpLink(server.url, { clock: new FakeClock() });
  await using client = mcpClient(wire, self);
  expect(await client.tools().all()).toEqual([]);
  await asked();
});

test("a subscription begins when the stream is open", async () => {
  const { server, asked } = await serverWithStreams();
  await using _ = server;
  const wire = mcpHttpLink(server.url, { clock: new FakeClock() });
  await using client = mcpClient(wire, self);
  const { listener, upTo } = listening();
  let began = false;
  const subscribed = client.subscribe({ tools: true }, listener).then(() => {
    began = true;
  });
  const stream = await asked();
  expect(began).toBe(false);
  stream.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
  await subscribed;
  stream.write(changed);
  expect(await upTo(1)).toEqual(["tools"]);
});

test("a stream that opens late is a gap for callers that did not wait", async () => {
  await using scene = await subscribing();
  const { asked, clock, upTo, subscribed } = scene;
  const stream = await asked();
  clock.advance(1_000);
  await subscribed;
  stream.writeHead(200, { "content-type": "text/event-stream" }).write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a stream that is opened again without resuming is a gap", async () => {
  await using scene = await subscribing();
  const { asked, open, clock, upTo, subscribed } = scene;
  const first = await open();
  await subscribed;
  first.end();
  // A server that has not yet noticed the end of the old one refuses a second.
  (await whileTimePasses(clock, 500, asked())).writeHead(409).end();
  const again = await whileTimePasses(clock, 500, asked());
  again.writeHead(200, { "content-type": "text/event-stream" }).write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a stream that cannot be resumed is opened again, and is a gap", async () => {
  await using scene = await subscribing();
  const { server, asked, open, clock, upTo, subscribed } = scene;
  const first = await open();
  await subscribed;
  first.end("id: 7\n\n");
  // Like a server that has dropped the stream, but not the session.
  (await whileTimePasses(clock, 500, asked())).writeHead(400).end();
  const again = await whileTimePasses(clock, 500, open());
  expect(server.seen.at(-1)?.headers).not.toHaveProperty("last-event-id");
  again.write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a server that is away for long is listened to when it is back", async () => {
  await using scene = await subscribing();
  const { asked, open, clock, upTo, subscribed } = scene;
  (await open()).end();
  await subscribed;
  for (let attempt = 0; attempt < 12; attempt++) {
    (await whileTimePasses(clock, 5_000, asked())).writeHead(503).end();
  }
  (await whileTimePasses(clock, 5_000, open())).write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a lost session is started again for a client that only listens, as often as needed", async () => {
  await using scene = await subscribing({ tools: true, uris: ["test://a"] });
  const { server, asked, open, refuseGreetings, clock, upTo, subscribed } = scene;
  const first = await open();
  await subscribed;
  refuseGreetings(3);
  first.end();
  (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
  const again = await whileTimePasses(clock, 500, open());
  expect(await upTo(1)).toEqual(["gap"]);
  const asks = server.seen.filter(({ message }) => message.method === "resources/subscribe");
  expect(asks).toHaveLength(2);
  again.write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a session that is lost before its stream was open is started again for a listener", async () => {
  await using scene = await subscribing();
  const { asked, open, clock, upTo, subscribed } = scene;
  (await asked()).destroy();
  await whileTimePasses(clock, 500, subscribed);
  // It may not have noticed that the first was cut.
  (await whileTimePasses(clock, 500, asked())).writeHead(409).end();
  (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
  const stream = await open();
  expect(await upTo(1)).toEqual(["gap"]);
  stream.write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test("a subscription whose wire breaks again while it is restored continues", async () => {
  await using scene = await subscribing({ tools: true, uris: ["test://a"] });
  const { server, asked, open, cutSubscribing, clock, upTo, subscribed } = scene;
  const first = await open();
  await subscribed;
  cutSubscribing(3);
  first.end();
  (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
  const again = await open();
  const isAsk = ({ message }: RawRequest): boolean => message.method === "resources/subscribe";
  await expect.poll(() => server.seen.filter(isAsk).length).toBe(2);
  expect(await whileTimePasses(clock, 500, upTo(1))).toEqual(["gap"]);
  expect(server.seen.filter(isAsk)).toHaveLength(5);
  again.write(changed);
  expect(await upTo(2)).toEqual(["gap", "tools"]);
});

test.each([400, 403, 501])(
  "a subscription that is refused with %d when it is mended is over",
  async (status) => {
    await using scene = await subscribing({ uris: ["test://a"] });
    const { asked, open, refuseSubscribing, clock, subscribed } = scene;
    const first = await open();
    const { closed } = await subscribed;
    refuseSubscribing(status);
    first.end();
    (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
    await open();
    expect(await closed).toMatchObject({ code: "HTTP_STATUS", status });
  },
);

test("many subscriptions cause no warning", async () => {
  const warnings: Error[] = [];
  const warn = (warning: Error): void => void warnings.push(warning);
  process.on("warning", warn);
  onTestFinished(() => void process.off("warning", warn));
  await using scene = await subscribing();
  const { client, open } = scene;
  await open();
  const all = await Promise.all(
    Array.from({ length: 20 }, () => client.subscribe({ tools: true }, () => {})),
  );
  await client.close();
  for (const { closed } of all) expect(await closed).toMatchObject({ code: "CLOSED" });
  expect(warnings).toEqual([]);
});

test("a subscription ends with its client", async () => {
  await using scene = await subscribing();
  const { client, open, subscribed } = scene;
  await open();
  const { closed } = await subscribed;
  await client.close();
  expect(await closed).toMatchObject({ code: "CLOSED" });
});

test("a subscription of the modern era ends with its client, also while it waits to listen again", async () => {
  let asked = 0;
  await using server = await rawServer(
    modern(({ message }, response) => {
      if (asked++ > 0) return response.destroy();
      const _meta = { "io.modelcontextprotocol/subscriptionId": message.id };
      const method = "notifications/subscriptions/acknowledged";
      response.writeHead(200, { "content-type": "text/event-stream" });
      const params = { notifications: {}, _meta };
      return response.end(`data: ${JSON.stringify({ jsonrpc: "2.0", method, params })}\n\n`);
    }),
  );
  // Its time stands still, so it would wait forever.
  const clock = new FakeClock();
  const client = mcpClient(mcpHttpLink(server.url, { clock }), { ...self, era: "modern", clock });
  await client.connect();
  const { waiting } = clock;
  const { closed } = await client.subscribe({ tools: true }, () => {});
  await expect.poll(() => clock.waiting).toBeGreaterThan(waiting);
  await client.close();
  expect(await closed).toMatchObject({ code: "CLOSED" });
});

test("a lost session is not started again without a listener", async () => {
  const { server, asked, open } = await serverWithStreams();
  await using _ = server;
  const clock = new FakeClock();
  await using client = mcpClient(mcpHttpLink(server.url, { clock }), self);
  await client.connect();
  (await open()).end();
  (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
  await client.tools().all();
  const greetings = server.seen.filter(({ message }) => message.method === "initialize");
  expect(greetings).toHaveLength(1);
});

test("a server without such a stream delays nothing", async () => {
  await using server = await rawServer(
    legacy((request, response) => {
      if (request.verb === "GET") response.writeHead(405).end();
      else result(response, request, {});
    }),
  );
  const wire = mcpHttpLink(server.url, { clock: new FakeClock() });
  await using client = mcpClient(wire, self);
  await using _ = await client.subscribe({ uris: ["test://a"] }, () => {});
  expect(server.seen.at(-1)?.message.method).toBe("resources/subscribe");
});

test("a listener that throws is logged, and gets later notifications", async () => {
  const { server, asked, open } = await serverWithStreams();
  await using _ = server;
  const clock = new FakeClock();
  const logged: unknown[] = [];
  const log = { ...silentLog, error: (facts: object) => logged.push(facts) };
  await using client = mcpClient(mcpHttpLink(server.url, { clock }), { ...self, clock, log });
  const { listener, upTo } = listening();
  const subscribed = client.subscribe({ tools: true }, (change) => {
    listener(change);
    throw new Error("the listener is broken");
  });
  const first = await open();
  await subscribed;
  first.end();
  // The stream breaks, and then the session too.
  const second = await whileTimePasses(clock, 500, open());
  await upTo(1);
  second.end();
  (await whileTimePasses(clock, 500, asked())).writeHead(404).end();
  const third = await whileTimePasses(clock, 500, open());
  await upTo(2);
  third.write(changed);
  expect(await upTo(3)).toEqual(["gap", "gap", "tools"]);
  expect(logged).toMatchObject([{ change: "gap" }, { change: "gap" }, { change: "tools" }]);
});

test("a server that sends endless requests and accepts no answer is no longer read", async () => {
  const pings = 300;
  const asked = Array.from({ length: pings }, (_, id) =>
    JSON.stringify({ jsonrpc: "2.0", method: "ping", id }),
  );
  const events = asked.map((text) => `data: ${text}\n\n`).join("");
  const held: (() => void)[] = [];
  let answered = 0;
  const fetch = async (_url: string, { method, body }: RequestInit): Promise<Response> => {
    const headers = { "content-type": "text/event-stream" };
    if (method === "GET") return new Response(new Blob([events]).stream(), { headers });
    const message = JSON.parse(String(body ?? "{}"));
    if (message.method === "initialize") {
      const info = { name: "hostile", version: "1" };
      const found = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: info };
      return Response.json({ jsonrpc: "2.0", id: message.id, result: found });
    }
    if (message.method === undefined && method === "POST") {
      await new Promise<void>((resolve) => held.push(resolve));
      answered++;
    }
    return new Response(null, { status: 202 });
  };
  const client = mcpClient(mcpHttpLink("http://127.0.0.1:1/mcp", { fetch }), self);
  onTestFinished(() => client.close());
  await client.connect();
  let most = 0;
  while (answered < pings) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, held.length);
    held.shift()?.();
  }
  expect(most).toBeGreaterThan(1);
  expect(most).toBeLessThanOrEqual(64);
});
