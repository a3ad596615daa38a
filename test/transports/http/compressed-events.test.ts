/** Event streams that are compressed for clients that accept it. */
import { request } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { createGunzip, gunzipSync, constants as zlib } from "node:zlib";
import {
  createServer,
  type Methods,
  method,
  type ServerOptions,
  silentLog,
  stream,
} from "callwire";
import { fetchHandler } from "callwire/http";
import type { ServeHttpOptions } from "callwire/http/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../contract/wire.ts";
import { json, serve } from "./wire.ts";

const call = (name: string, params: readonly unknown[] = []) =>
  JSON.stringify({ jsonrpc: "2.0", method: name, params, id: 1 });

interface Events {
  readonly headers: Headers;
  /** The body as it was sent. */
  readonly body: ReadableStream<Uint8Array>;
}

/** Sends a call, and reads its reply without inflating it, unlike `fetch`. */
async function ask(
  methods: Methods,
  body: string,
  options: ServeHttpOptions = {},
  more: Record<string, string> = {},
  serverOptions: ServerOptions = {},
): Promise<Events> {
  const { port } = await serve(methods, options, serverOptions);
  const headers = { ...json, accept: "text/event-stream", "accept-encoding": "gzip", ...more };
  return new Promise((resolve, reject) => {
    const sent = request({ port, path: "/rpc", method: "POST", headers }, (response) => {
      onTestFinished(() => void response.destroy());
      const got = new Headers(response.headers as Record<string, string>);
      const chunks = new ReadableStream<Uint8Array>({
        start(controller) {
          response.on("data", (chunk: Buffer) => controller.enqueue(chunk));
          response.on("end", () => controller.close());
          response.on("error", (error) => controller.error(error));
        },
      });
      resolve({ headers: got, body: chunks });
    });
    sent.on("error", reject);
    sent.end(body);
  });
}

async function whole({ body }: Events): Promise<Buffer> {
  return Buffer.from(await new Response(body).arrayBuffer());
}

const itemsOf = (text: string): unknown[] =>
  [...text.matchAll(/^data: (.*)$/gm)].map(([, data]) => {
    const { params, result } = JSON.parse(data as string);
    return params === undefined ? result : params.value;
  });

describe.each([
  ["by Node", false],
  ["on the fast path", true],
])("requests that are read %s", (_, fastPath) => {
  const words = stream({}, async function* () {
    for (let i = 0; i < 100; i++) {
      await turn();
      yield `word ${i}`;
    }
  });

  test("the events of a stream are compressed, and shorter than they are plain", async () => {
    const events = await ask({ words }, call("words"), { fastPath });
    expect(Object.fromEntries(events.headers)).toMatchObject({
      "content-type": "text/event-stream",
      "content-encoding": "gzip",
      vary: "accept-encoding",
    });
    const body = await whole(events);
    const text = gunzipSync(body).toString();
    expect(itemsOf(text).slice(0, 100)).toEqual(Array.from({ length: 100 }, (_, i) => `word ${i}`));
    expect(body.length).toBeLessThan(text.length / 2);
  });

  test("each event can be read when it was sent", async () => {
    const read: (() => void)[] = [];
    const slow = stream({}, async function* () {
      for (let i = 0; i < 3; i++) {
        yield `item ${i}`;
        const { promise, resolve } = deferred();
        read.push(resolve);
        await promise;
      }
    });
    const { body } = await ask({ slow }, call("slow"), { fastPath });
    const gunzip = createGunzip({ flush: zlib.Z_SYNC_FLUSH });
    const reader = body.getReader();
    let text = "";
    gunzip.on("data", (chunk: Buffer) => {
      text += chunk;
    });
    for (let i = 0; i < 3; i++) {
      while (!text.includes(`item ${i}`)) {
        const { value } = await reader.read();
        await new Promise((done) => gunzip.write(value, done));
      }
      expect(text).not.toContain(`item ${i + 1}`);
      await expect.poll(() => read.length).toBe(i + 1);
      read[i]?.();
    }
  });

  test("events of any length come in order", async () => {
    const lengths = [10, 300_000, 20, 0, 70_000, 65_536, 1, 1_000_000, 5];
    const large = stream({}, async function* () {
      for (const length of lengths) {
        yield "ä".repeat(length);
        if (length % 2 === 0) await turn();
      }
    });
    const body = gunzipSync(await whole(await ask({ large }, call("large"), { fastPath })));
    const items = itemsOf(body.toString()) as (string | null)[];
    expect(items.slice(0, -1).map((item) => item?.length)).toEqual(lengths);
  });

  test("a method opts out before its first event", async () => {
    const secret = stream({ compress: false }, async function* () {
      await turn();
      yield "s".repeat(5_000);
    });
    const events = await ask({ secret }, call("secret"), { fastPath });
    expect(events.headers.get("content-encoding")).toBe(null);
    expect(`${await whole(events)}`).toContain("sssss");
  });

  test("a method opts out after the response began: from there on nothing is compressed", async () => {
    const plain = stream({}, async function* () {
      yield "p".repeat(5_000);
      await turn();
      await turn();
    });
    const secret = method({ compress: false }, () => "s".repeat(5_000));
    const batch = `[${call("plain")},${call("secret").replace('"id":1', '"id":2')}]`;
    const inTurn = { limits: { maxBatchConcurrency: 1 } };
    const events = await ask({ plain, secret }, batch, { fastPath }, {}, inTurn);
    const sent = await whole(events);
    expect(events.headers.get("content-encoding")).toBe("gzip");
    expect(gunzipSync(sent).toString()).toContain("s".repeat(5_000));
    expect([sent.includes("p".repeat(1_000)), sent.includes("s".repeat(5_000))]).toEqual([
      false,
      true,
    ]);
  });

  test.each([
    ["identity", {}],
    ["br", {}],
    ["gzip;q=0", {}],
    ["gzip", { compress: false }],
  ])("a client that accepts %s gets plain events with the options %o", async (accept, options) => {
    const more = { "accept-encoding": accept };
    const events = await ask({ words }, call("words"), { ...options, fastPath }, more);
    expect(events.headers.get("content-encoding")).toBe(null);
    expect(events.headers.get("vary")).toBe("compress" in options ? null : "accept-encoding");
    expect(itemsOf(`${await whole(events)}`)).toHaveLength(101);
  });
});

test.each([
  [100, null],
  [1_024, "gzip"],
])(
  "a stream of %i characters that ends in its first turn has the encoding %s",
  async (length, coding) => {
    const short = stream({}, function* () {
      yield "s".repeat(length);
    });
    const events = await ask({ short }, call("short"), { replay: false });
    expect(events.headers.get("content-encoding")).toBe(coding);
    expect(events.headers.get("vary")).toBe("accept-encoding");
    const sent = await whole(events);
    expect(itemsOf(`${coding === null ? sent : gunzipSync(sent)}`)[0]).toHaveLength(length);
  },
);

test("a resumed stream of a method that opted out is plain, also when it has ended", async () => {
  const secret = stream({ compress: false }, async function* () {
    for (let i = 0; i < 3; i++) {
      await turn();
      yield "s".repeat(2_000);
    }
  });
  const { port } = await serve({ secret }, { replay: {} });
  const headers = { ...json, accept: "text/event-stream", "accept-encoding": "gzip" };
  const url = `http://127.0.0.1:${port}/rpc`;
  const response = await fetch(url, { method: "POST", headers, body: call("secret") });
  const id = /^id: (.*)$/m.exec(await response.text())?.[1] as string;
  const resumed = await fetch(url, { headers: { ...headers, "last-event-id": id } });
  expect(resumed.headers.get("content-encoding")).toBe(null);
  expect(await resumed.text()).toContain("sssss");
});

test("the events of a fetch handler are plain: its runtime cannot flush them", async () => {
  const words = stream({}, async function* () {
    await turn();
    yield "w".repeat(2_000);
  });
  const handler = fetchHandler(createServer({ words }, { log: silentLog }));
  const headers = { ...json, accept: "text/event-stream", "accept-encoding": "gzip" };
  const init = { method: "POST", headers, body: call("words") };
  const response = await handler(new Request("http://localhost/rpc", init));
  expect(response.headers.get("content-encoding")).toBe(null);
  expect(await response.text()).toContain("wwwww");
});
