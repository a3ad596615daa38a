import { connect } from "node:net";
import {
  type Context,
  createServer,
  type Handle,
  type Middleware,
  method,
  RpcError,
  silentLog,
  stream,
} from "callwire";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import { whileTimePasses } from "../../passing-time.ts";
import { deferred } from "../contract/wire.ts";
import { socketBytes } from "../socket-bytes.ts";
import {
  type Answer,
  add,
  endlessStream,
  json,
  post,
  RawClient,
  send,
  serve,
  sum,
} from "./wire.ts";

const events = { ...json, accept: "text/event-stream" };
const either = { ...json, accept: "application/json, text/event-stream" };

const methods = {
  add: (a: number, b: number) => a + b,
  later: async (value: unknown) => value,
  report: method({}, async (_, call) => {
    call.progress("half");
    return "done";
  }),
  report_now: method({}, (_, call) => {
    call.progress("half");
    return "done";
  }),
  count: stream({}, async function* (params) {
    for (let i = 0; i < (params as number[])[0]!; i++) yield i;
  }),
  refuse: () => {
    throw new RpcError(-32001, "Refused", undefined, { status: 401 });
  },
};

function call(name: string, params: unknown[] = [], id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: "2.0", method: name, params, id });
}

/** The messages in a stream of events. */
function messagesOf({ text }: Pick<Answer, "text">): unknown[] {
  return Array.from(text.matchAll(/^data: (.*)$/gm), ([, data]) => JSON.parse(data as string));
}

function idsOf(text: string): string[] {
  return Array.from(text.matchAll(/^id: (.*)$/gm), ([, id]) => id as string);
}

const item = (value: unknown, id: unknown = 1) => ({
  jsonrpc: "2.0",
  method: "$/stream",
  params: { id, value },
});
const result = (value: unknown, id: unknown = 1) => ({ jsonrpc: "2.0", result: value, id });

describe("a client that accepts only events", () => {
  test("gets the reply as an event, and the stream ends", async () => {
    const { port } = await serve(methods);
    for (const name of ["add", "later"]) {
      const answer = await send(port, { headers: events, body: call(name, [2, 3]) });
      expect(answer.status).toBe(200);
      expect(answer.headers).toMatchObject({
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-accel-buffering": "no",
      });
      expect(messagesOf(answer)).toEqual([result(name === "add" ? 5 : 2)]);
    }
  });

  test("gets items, progress and notifications before it", async () => {
    const { port } = await serve(methods);
    const counted = await send(port, { headers: events, body: call("count", [3]) });
    expect(messagesOf(counted)).toEqual([item(0), item(1), item(2), result(null)]);
    const reported = await send(port, { headers: events, body: call("report") });
    expect(messagesOf(reported)).toEqual([
      { jsonrpc: "2.0", method: "$/progress", params: { token: 1, value: "half" } },
      result("done"),
    ]);
  });

  test("gets a batch as one event after the items of its streams", async () => {
    const { port } = await serve(methods);
    const body = `[${call("count", [2], "a")},${call("add", [2, 3], "b")}]`;
    const messages = messagesOf(await send(port, { headers: events, body }));
    expect(messages).toEqual([item(0, "a"), item(1, "a"), [result(null, "a"), result(5, "b")]]);
  });

  test("gets errors as events, or with their HTTP status", async () => {
    const { port } = await serve(methods);
    for (const [body, code] of [
      ["{", -32700],
      [call("none"), -32601],
    ] as const) {
      const answer = await send(port, { headers: events, body });
      expect(messagesOf(answer)).toMatchObject([{ error: { code } }]);
    }
    const refused = await send(port, { headers: events, body: call("refuse") });
    expect(refused.status).toBe(401);
    expect(JSON.parse(refused.text)).toMatchObject({ error: { code: -32001 }, id: 1 });
  });

  test("gets nothing for a notification", async () => {
    const { port } = await serve(methods);
    const body = '{"jsonrpc":"2.0","method":"add","params":[1,2]}';
    expect(await send(port, { headers: events, body })).toMatchObject({ status: 204, text: "" });
  });
});

describe("a client that accepts JSON or events", () => {
  test("gets JSON if nothing is sent before the reply", async () => {
    const { port } = await serve(methods);
    for (const name of ["add", "later"]) {
      const answer = await send(port, { headers: either, body: call(name, [2, 3]) });
      expect(answer.headers["content-type"]).toBe("application/json");
      expect(JSON.parse(answer.text)).toEqual(result(name === "add" ? 5 : 2));
    }
    expect((await send(port, { headers: either, body: call("refuse") })).status).toBe(401);
  });

  test("gets events when there is, without ids, since it will not resume", async () => {
    const { port } = await serve(methods);
    for (const name of ["report", "report_now"]) {
      const answer = await send(port, { headers: either, body: call(name) });
      expect(answer.headers["content-type"]).toBe("text/event-stream");
      expect(messagesOf(answer)).toHaveLength(2);
      expect(idsOf(answer.text)).toEqual([]);
    }
  });

  test("and disconnects in the middle, ends the call at once", async () => {
    const { methods, ended } = endlessStream();
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write(post(call("endless"), `Accept: ${either.accept}\r\n`));
    await client.until((text) => text.includes('"value":5'));
    client.socket.destroy();
    await ended;
  });
});

test("a client that accepts only JSON gets an error for a stream", async () => {
  const { port } = await serve(methods);
  const answer = await send(port, { body: call("count", [3]) });
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32007 }, id: 1 });
  const progress = await send(port, { body: call("report") });
  expect(JSON.parse(progress.text)).toEqual(result("done"));
});

test("a page of a listed origin may read events", async () => {
  const { port } = await serve(methods, { origins: ["https://app.example"] });
  const headers = { ...events, origin: "https://app.example" };
  const answer = await send(port, { headers, body: call("count", [1]) });
  expect(answer.headers["access-control-allow-origin"]).toBe("https://app.example");
});

test("a silent stream shows that it is alive", async () => {
  const clock = new FakeClock();
  const gate = deferred();
  const { port } = await serve({ wait: () => gate.promise }, { clock });
  const client = new RawClient(port);
  client.write(post(call("wait"), "Accept: text/event-stream\r\n"));
  await client.until((text) => text.includes("id: "));
  clock.advance(14_999);
  clock.advance(1);
  await client.until((text) => text.split(": keep-alive\n\n").length === 2);
  clock.advance(15_000);
  await client.until((text) => text.split(": keep-alive\n\n").length === 3);
  gate.resolve();
  await client.until((text) => text.includes('"result":null'));
  expect(clock.waiting).toBe(1);
});

describe("what a call says too late", () => {
  /** Notifies after its call has ended, and returns whether a client received it. */
  function late() {
    const over = deferred();
    const heard = deferred<boolean>();
    const started = deferred();
    return {
      over,
      heard: heard.promise,
      started: started.promise,
      methods: {
        quick: method({}, (_, call) => {
          void over.promise.then(() => heard.resolve(call.notify("late")));
          return "done";
        }),
        slow: method({}, async (_, call) => {
          started.resolve();
          await over.promise;
          heard.resolve(call.notify("late"));
        }),
      },
    };
  }

  test("is dropped after a reply as JSON", async () => {
    const { over, heard, methods: served } = late();
    const { port } = await serve(served);
    const answer = await send(port, { headers: either, body: call("quick") });
    expect(answer.headers["content-type"]).toBe("application/json");
    over.resolve();
    expect(await heard).toBe(false);
  });

  test("is dropped after a reply as events", async () => {
    const { over, heard, methods: served } = late();
    const { port } = await serve(served);
    await send(port, { headers: events, body: call("quick") });
    over.resolve();
    expect(await heard).toBe(false);
  });

  test("is dropped if its caller disconnected before anything was sent, and nothing continues", async () => {
    const clock = new FakeClock();
    const { over, heard, started, methods: served } = late();
    const { port, server } = await serve(served, { clock });
    const client = new RawClient(port);
    client.write(post(call("slow"), `Accept: ${either.accept}\r\n`));
    await started;
    const closed = new Promise((resolve) =>
      server.getConnections(() => client.socket.once("close", resolve)),
    );
    client.socket.destroy();
    await closed;
    await expect
      .poll(() => new Promise((resolve) => server.getConnections((_, count) => resolve(count))))
      .toBe(0);
    over.resolve();
    expect(await heard).toBe(false);
    expect(clock.waiting).toBe(0);
  });
});

describe("a reader that does not read", () => {
  test("stops the producer of its stream, which ends when it leaves", async () => {
    let made = 0;
    const ended = deferred();
    const { port } = await serve({
      endless: stream({}, async function* () {
        try {
          for (;;) {
            made++;
            yield "x".repeat(16 * 1024);
          }
        } finally {
          ended.resolve();
        }
      }),
    });
    const client = connect(port, "127.0.0.1");
    client.pause();
    client.write(post(call("endless"), `Accept: ${either.accept}\r\n`));
    let before = -1;
    for (let same = 0; same < 20; same = made === before ? same + 1 : 0) {
      before = made;
      await new Promise((resolve) => setImmediate(resolve));
      if (made === 0) same = 0;
    }
    expect(made).toBeLessThan((socketBytes + 4 * 1024 * 1024) / (16 * 1024));
    client.destroy();
    await ended.promise;
  });

  test("is disconnected when more than the limit was written to it", async () => {
    const stopped = deferred<number>();
    const { port } = await serve(
      {
        flood: method({}, async (_, call) => {
          let sent = 0;
          while (sent < 100_000 && call.notify("noise", ["x".repeat(1024)])) {
            sent++;
            if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
          }
          stopped.resolve(sent);
        }),
      },
      {},
      { limits: { maxBufferedBytes: 64 * 1024 } },
    );
    const client = connect(port, "127.0.0.1");
    client.on("error", () => {});
    client.pause();
    client.write(post(call("flood"), `Accept: ${either.accept}\r\n`));
    expect(await stopped.promise).toBeLessThan(100_000);
    client.destroy();
  });
});

describe("resuming", () => {
  /** Counts to a number, each step when the test allows it. */
  function gated() {
    const gates = Array.from({ length: 10 }, () => deferred());
    const ended = deferred<Context>();
    return {
      gates,
      ended: ended.promise,
      methods: {
        ...methods,
        steps: stream({}, async function* (_, call) {
          try {
            const aborted = new Promise((resolve) =>
              call.signal.addEventListener("abort", resolve),
            );
            for (let i = 0; i < 4; i++) {
              await Promise.race([gates[i]?.promise, aborted]);
              yield i;
            }
          } finally {
            ended.resolve(call);
          }
        }),
      },
    };
  }

  const resume = (port: number, id: string, headers: Record<string, string> = {}) =>
    send(port, {
      method: "GET",
      headers: { accept: "text/event-stream", "last-event-id": id, ...headers },
    });

  async function firstEvents(port: number, name: string, count: number): Promise<string> {
    const client = new RawClient(port);
    client.write(post(call(name), "Accept: text/event-stream\r\n"));
    const text = await client.until(
      (heard) => idsOf(heard).length > count && heard.endsWith("\n\n\r\n"),
    );
    client.socket.destroy();
    return text;
  }

  test("every event has an id, from before the first on", async () => {
    const { port } = await serve(methods);
    const { text } = await send(port, { headers: events, body: call("count", [2]) });
    const ids = idsOf(text);
    const [key] = ids[0]?.split(".") ?? [];
    expect(key).toMatch(/^[\da-f-]{36}$/);
    expect(ids).toEqual([0, 1, 2, 3].map((n) => `${key}.${n}`));
    expect(text).toMatch(/^retry: 1000\nid: .*\.0\n\n/);
  });

  test("a stream that was cut continues after the last event that arrived", async () => {
    const { gates, methods: served } = gated();
    const { port } = await serve(served);
    gates[0]?.resolve();
    gates[1]?.resolve();
    const ids = idsOf(await firstEvents(port, "steps", 2));
    for (const gate of gates) gate.resolve();
    const rest = await resume(port, ids[1] as string);
    expect(rest.status).toBe(200);
    expect(rest.headers["content-type"]).toBe("text/event-stream");
    expect(messagesOf(rest)).toEqual([item(1), item(2), item(3), result(null)]);
  });

  test("a stream that has ended can be read again, from any event", async () => {
    const { port } = await serve(methods);
    const whole = await send(port, { headers: events, body: call("count", [3]) });
    const all = messagesOf(whole);
    const ids = idsOf(whole.text);
    expect(ids).toHaveLength(5);
    for (const [i, id] of ids.entries()) {
      expect(messagesOf(await resume(port, id))).toEqual(all.slice(i));
    }
  });

  test("a reader that resumes replaces the one before", async () => {
    const { gates, methods: served } = gated();
    const { port } = await serve(served);
    const client = new RawClient(port);
    client.write(post(call("steps"), "Accept: text/event-stream\r\n"));
    gates[0]?.resolve();
    const text = await client.until((heard) => heard.includes('"value":0'));
    const again = resume(port, idsOf(text)[0] as string);
    // The first connection ends properly, without the reply.
    const first = await client.until((heard) => heard.endsWith("0\r\n\r\n"));
    for (const gate of gates) gate.resolve();
    expect(messagesOf(await again)).toEqual([item(0), item(1), item(2), item(3), result(null)]);
    expect(first).not.toContain('"value":1');
  });

  test("a call whose reader does not come back ends after a while", async () => {
    const clock = new FakeClock();
    const { gates, ended, methods: served } = gated();
    const { port } = await serve(served, { clock });
    gates[0]?.resolve();
    const before = clock.waiting;
    const id = idsOf(await firstEvents(port, "steps", 1))[1] as string;
    // The timer of comments is replaced by the one that ends the call.
    await expect.poll(() => clock.waiting, { interval: 1 }).toBe(before + 1);
    const { signal } = await whileTimePasses(clock, 100, ended);
    expect(clock.now()).toBeGreaterThanOrEqual(10_000);
    expect(signal.aborted).toBe(true);
    expect((await resume(port, id)).status).toBe(404);
  });

  test("a stream without a reader waits for it, whatever it has to say", async () => {
    const { gates, methods: served } = gated();
    let made = 0;
    const { port, server } = await serve({
      ...served,
      eager: stream({}, async function* () {
        await gates[0]?.promise;
        for (; made < 1000; made++) yield made;
      }),
    });
    const gone = new Promise((resolve) =>
      server.once("connection", (socket) => socket.once("close", resolve)),
    );
    const id = idsOf(await firstEvents(port, "eager", 0))[0] as string;
    // Until the server notices it, the stream still has a reader.
    await gone;
    gates[0]?.resolve();
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(made).toBeLessThan(1000);
    expect(messagesOf(await resume(port, id))).toHaveLength(1001);
  });

  test("a reader that will not come back sends DELETE, and its call ends at once", async () => {
    const { gates, ended, methods: served } = gated();
    const { port } = await serve(served);
    gates[0]?.resolve();
    const id = idsOf(await firstEvents(port, "steps", 1))[1] as string;
    const gone = { method: "DELETE", headers: { "last-event-id": id } };
    expect((await send(port, gone)).status).toBe(204);
    gates[1]?.resolve();
    expect((await ended).signal.aborted).toBe(true);
    expect((await send(port, gone)).status).toBe(404);
    expect((await resume(port, id)).status).toBe(404);
  });

  test("an unknown or malformed id is 404", async () => {
    const { port } = await serve(methods);
    const { text } = await send(port, { headers: events, body: call("count", [1]) });
    const id = idsOf(text)[0] as string;
    const foreign = [
      "00000000-0000-4000-8000-000000000000.0",
      id.replace(/\.0$/, ".99"),
      id.replace(/\.0$/, ".-1"),
      id.replace(/\.0$/, ""),
      `${id} `.repeat(2),
      "1",
      "__proto__.0",
      "",
    ];
    for (const each of foreign) {
      const answer = await resume(port, each);
      expect([each, answer.status]).toEqual([each, 404]);
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32600 }, id: null });
    }
    expect((await resume(port, id)).status).toBe(200);
  });

  test("the stream of a client with other credentials is 404", async () => {
    const { port } = await serve(methods);
    const headers = { ...events, authorization: "Bearer alice" };
    const id = idsOf((await send(port, { headers, body: call("count", [1]) })).text)[0] as string;
    expect((await resume(port, id)).status).toBe(404);
    expect((await resume(port, id, { authorization: "Bearer mallory" })).status).toBe(404);
    expect((await resume(port, id, { authorization: "Bearer alice" })).status).toBe(200);
  });

  test("hosts and origins are checked here too", async () => {
    const { port } = await serve(methods);
    const id = idsOf(
      (await send(port, { headers: events, body: call("count", [1]) })).text,
    )[0] as string;
    for (const headers of [
      { host: "evil.example" },
      { origin: "https://evil.example" },
      { "sec-fetch-site": "cross-site" },
    ]) {
      expect((await resume(port, id, headers as never)).status).toBe(403);
    }
  });

  test("a GET without an event id, or for something else, is 405", async () => {
    const { port } = await serve(methods);
    const accept = "text/event-stream";
    expect((await send(port, { method: "GET", headers: { accept } })).status).toBe(405);
    expect((await send(port, { method: "GET", headers: { "last-event-id": "x" } })).status).toBe(
      405,
    );
  });

  test("stored events are limited in number, length, time and streams", async () => {
    const clock = new FakeClock();
    const replay = { maxEvents: 3, maxLength: 1000, maxStreams: 2, keepMs: 60_000 };
    const { port } = await serve(methods, { replay, clock });
    const ids = async (name: string, params: unknown[]) =>
      idsOf((await send(port, { headers: events, body: call(name, params) })).text);
    const statuses = (all: string[]) =>
      Promise.all(all.map(async (id) => (await resume(port, id)).status));

    const many = await ids("count", [4]);
    expect(await statuses(many)).toEqual([404, 404, 200, 200, 200, 200]);
    const long = await ids("later", ["x".repeat(1000)]);
    expect(await statuses(long)).toEqual([404, 200]);
    // A third stream replaces the first, which has ended.
    const third = await ids("count", [1]);
    expect(await statuses([many[5], long[1], third[2]] as string[])).toEqual([404, 200, 200]);
    clock.advance(59_999);
    expect(await statuses([third[2]] as string[])).toEqual([200]);
    clock.advance(1);
    expect(await statuses([third[2]] as string[])).toEqual([404]);
  });

  test("the oldest streams make room if all of them together keep too much", async () => {
    const { port } = await serve(methods, { replay: { maxTotalLength: 2_500 } });
    const lastIds: string[] = [];
    for (let i = 0; i < 3; i++) {
      const body = call("later", ["x".repeat(1_000)]);
      lastIds.push(idsOf((await send(port, { headers: events, body })).text)[1] as string);
    }
    const statuses = await Promise.all(lastIds.map(async (id) => (await resume(port, id)).status));
    expect(statuses).toEqual([404, 200, 200]);
  });

  test("a forgotten stream continues for its reader, but cannot be resumed", async () => {
    const { gates, ended, methods: served } = gated();
    const { port } = await serve(served, { replay: { maxTotalLength: 500 } });
    const client = new RawClient(port);
    client.write(post(call("steps"), "Accept: text/event-stream\r\n"));
    gates[0]?.resolve();
    const [id] = idsOf(await client.until((text) => text.includes('"value":0')));
    await send(port, { headers: events, body: call("later", ["x".repeat(1_000)]) });
    expect((await resume(port, id as string)).status).toBe(404);
    gates[1]?.resolve();
    await client.until((text) => text.includes('"value":1'));
    client.socket.destroy();
    expect((await ended).signal.aborted).toBe(true);
  });

  test("a call without a reader ends if its stream had to make room", async () => {
    const clock = new FakeClock();
    const { gates, ended, methods: served } = gated();
    const { port } = await serve(served, { replay: { maxTotalLength: 500 }, clock });
    gates[0]?.resolve();
    const before = clock.waiting;
    await firstEvents(port, "steps", 1);
    await expect.poll(() => clock.waiting).toBe(before + 1);
    await send(port, { headers: events, body: call("later", ["x".repeat(1_000)]) });
    expect((await ended).signal.aborted).toBe(true);
  });

  test("streams dropped for lack of room cannot be resumed", async () => {
    const clock = new FakeClock();
    const { port } = await serve(methods, { replay: { maxStreams: 2 }, clock });
    const before = clock.waiting;
    for (let i = 0; i < 20; i++) await send(port, { headers: events, body: call("count", [1]) });
    expect(clock.waiting - before).toBe(2);
  });

  /** Takes some time to decide who may read a stream. */
  function slowJudge() {
    const [asked, known] = [deferred(), deferred()];
    const judge: Middleware = Object.assign((next: Handle) => next, {
      admit: () => async () => {
        asked.resolve();
        await known.promise;
        return undefined;
      },
    });
    return { asked, known, judge };
  }

  test("a stream that was dropped while its reader was authenticated is gone", async () => {
    const clock = new FakeClock();
    const { gates, ended, methods: served } = gated();
    const { asked, known, judge } = slowJudge();
    const { port } = await serve(served, { clock }, { use: [judge] });
    gates[0]?.resolve();
    const before = clock.waiting;
    const id = idsOf(await firstEvents(port, "steps", 1))[1] as string;
    await expect.poll(() => clock.waiting).toBe(before + 1);
    const again = resume(port, id);
    await asked.promise;
    clock.advance(10_000);
    await ended;
    known.resolve();
    expect((await again).status).toBe(404);
  });

  test("a reader that leaves while it is authenticated does not keep its call", async () => {
    const clock = new FakeClock();
    const { gates, ended, methods: served } = gated();
    const { asked, known, judge } = slowJudge();
    const { port, server } = await serve(served, { clock }, { use: [judge] });
    gates[0]?.resolve();
    const before = clock.waiting;
    const id = idsOf(await firstEvents(port, "steps", 1))[1] as string;
    await expect.poll(() => clock.waiting).toBe(before + 1);
    const gone = new Promise((resolve) =>
      server.once("connection", (socket) => socket.once("close", resolve)),
    );
    const client = new RawClient(port);
    const head = `Accept: text/event-stream\r\nLast-Event-Id: ${id}\r\n`;
    client.write(`GET /rpc HTTP/1.1\r\nHost: localhost\r\n${head}\r\n`);
    await asked.promise;
    client.socket.destroy();
    await gone;
    known.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10_000);
    expect((await ended).signal.aborted).toBe(true);
  });

  test("streams for which there is no room are sent without ids", async () => {
    const gate = deferred();
    const { port } = await serve(
      { ...methods, wait: () => gate.promise },
      { replay: { maxStreams: 1 } },
    );
    const client = new RawClient(port);
    client.write(post(call("wait"), "Accept: text/event-stream\r\n"));
    await client.until((text) => text.includes("id: "));
    const { text } = await send(port, { headers: events, body: call("count", [1]) });
    expect(idsOf(text)).toEqual([]);
    gate.resolve();
  });

  test("it can be turned off: no ids, and a call ends with its connection", async () => {
    const { gates, ended, methods: served } = gated();
    const { port } = await serve(served, { replay: false });
    gates[0]?.resolve();
    const client = new RawClient(port);
    client.write(post(call("steps"), "Accept: text/event-stream\r\n"));
    const text = await client.until((heard) => heard.includes('"value":0'));
    expect(idsOf(text)).toEqual([]);
    client.socket.destroy();
    gates[1]?.resolve();
    expect((await ended).signal.aborted).toBe(true);
  });
});

test("an event stream that runs when the service closes ends with its reply", async () => {
  const gate = deferred<string>();
  const server = createServer({ wait: () => gate.promise }, { log: silentLog });
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => http.close());
  const client = new RawClient(http.port);
  client.write(post(call("wait"), "Accept: text/event-stream\r\n"));
  await client.until((text) => text.includes("id: "));
  const closing = server.close();
  gate.resolve("last words");
  expect(await client.all()).toContain('"last words"');
  await closing;
});

test("calls and events share a connection", async () => {
  const { port } = await serve(methods);
  const client = new RawClient(port);
  client.write(post(call("count", [2]), "Accept: text/event-stream\r\n"));
  await client.until((text) => /"result":.*\n\n/.test(text));
  client.write(post(add));
  await client.until((text) => text.endsWith(sum));
});
