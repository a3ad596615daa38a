import { once } from "node:events";
import { createServer as createListener } from "node:net";
import {
  createClient,
  createServer,
  fallback,
  type Link,
  type Server,
  stream,
  topic,
  type WireError,
} from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { ownPort } from "../own-port.ts";
import { startProxy } from "./contract/proxy.ts";

/** The calls that run on the server, and how often. */
function journalled() {
  const prices = topic<number>();
  const runs: string[] = [];
  const release: (() => void)[] = [];
  const state = { subscriptions: 0 };
  const methods = {
    prices: stream({}, (_, call) => {
      state.subscriptions++;
      return prices.subscribe(call);
    }),
    write: (text: string) => {
      runs.push(text);
      return new Promise<string>((resolve) => release.push(() => resolve(text)));
    },
    add: (a: number, b: number) => a + b,
  };
  return { prices, state, runs, release, methods, server: createServer(methods) };
}

type Between = Awaited<ReturnType<typeof startProxy>>;

interface Healing {
  readonly link: Link;
  readonly proxy: Between;
  [Symbol.asyncDispose](): Promise<void>;
}

type Open = (server: Server) => Promise<Healing>;

const reconnect = { delayMs: 1 };

const overTcp: Open = async (server) => {
  const served = await serveSocket(server, { port: 0 });
  const proxy = await startProxy({ port: served.port as number }, await ownPort());
  return closing(tcpLink({ port: proxy.port, reconnect }), proxy, () => served.close());
};

const overWebSocket: Open = async (server) => {
  const served = await serveHttp(server, { port: 0 });
  const proxy = await startProxy({ port: served.port }, await ownPort());
  const url = `ws://127.0.0.1:${proxy.port}/rpc/ws`;
  return closing(webSocketLink(url, { reconnect }), proxy, () => served.close());
};

function closing(link: Link, proxy: Between, close: () => Promise<unknown>): Healing {
  return {
    link,
    proxy,
    async [Symbol.asyncDispose]() {
      await link.close();
      proxy.close();
      await close();
    },
  };
}

describe.each([
  ["TCP", overTcp],
  ["WebSocket", overWebSocket],
] as const)("a wire that breaks, %s", (_, open) => {
  test("a subscription is repeated, and its reader gets the gap", async () => {
    const { prices, state, methods, server } = journalled();
    // The new one may arrive before the server has noticed that the old one is gone.
    const subscribed = async (times: number) => {
      while (state.subscriptions < times || prices.size !== 1) await turn();
    };
    await using wire = await open(server);
    const client = createClient<typeof methods>(wire.link);
    let gaps = 0;
    const options = { idempotent: true, onGap: () => gaps++ };
    const reader = client.with(options).api.prices()[Symbol.asyncIterator]();
    const first = reader.next();
    await subscribed(1);
    prices.publish(1);
    expect((await first).value).toBe(1);
    const second = reader.next();
    wire.proxy.cut();
    await subscribed(2);
    prices.publish(2);
    expect((await second).value).toBe(2);
    expect(gaps).toBe(1);
    await reader.return?.();
  });

  test("an idempotent stream starts again with its first item", async () => {
    let runs = 0;
    const methods = {
      count: stream({}, async function* (_params, call) {
        yield 1;
        if (runs++ === 0) await once(call.signal, "abort");
        yield 2;
      }),
    };
    await using wire = await open(createServer(methods));
    const client = createClient<typeof methods>(wire.link);
    const seen: unknown[] = [];
    const options = { idempotent: true, onGap: () => seen.push("gap") };
    for await (const item of client.stream("count", undefined, options)) {
      seen.push(item);
      if (seen.length === 1) wire.proxy.cut();
    }
    expect(seen).toEqual([1, "gap", 1, 2]);
  });

  test.each([
    ["refuses", () => undefined],
    ["hangs up at once", hangUpAt],
  ])(
    "a stream whose server is gone starts again at the next one, after a gap: %s",
    async (_, instead) => {
      const counting = (stopsAt?: number) =>
        createServer({
          count: stream({}, async function* (_params, call) {
            for (let i = 0; i < 200; i++) {
              yield i;
              if (i === stopsAt) await once(call.signal, "abort");
            }
          }),
        });
      await using wire = await open(counting(2));
      await using other = await open(counting());
      const client = createClient(fallback([wire.link, other.link]));
      const seen: unknown[] = [];
      const options = { idempotent: true, onGap: () => seen.push("gap") };
      for await (const item of client.stream("count", undefined, options)) {
        if (seen.push(item) !== 3) continue;
        wire.proxy.close();
        instead(wire.proxy.port);
      }
      expect(seen.slice(0, 4)).toEqual([0, 1, 2, "gap"]);
      // The server may have received it each time before it disconnected.
      const items = seen.slice(3).filter((item) => item !== "gap");
      expect(items).toEqual(Array.from({ length: 200 }, (_, i) => i));
    },
  );

  test("a slow reader gets the gap in its place, after the items before it", async () => {
    let runs = 0;
    const methods = {
      count: stream({}, async function* (_params, call) {
        runs++;
        yield* [1, 2, 3];
        if (runs === 1) await once(call.signal, "abort");
      }),
    };
    await using wire = await open(createServer(methods));
    const client = createClient<typeof methods>(wire.link);
    const seen: unknown[] = [];
    const options = { idempotent: true, onGap: () => seen.push("gap") };
    for await (const item of client.stream("count", undefined, options)) {
      seen.push(item);
      if (seen.length > 1) continue;
      // All three have arrived before the answer to this.
      await client.call("rpc.discover");
      wire.proxy.cut();
      while (runs < 2) await turn();
    }
    expect(seen).toEqual([1, 2, 3, "gap", 1, 2, 3]);
  });

  test("a reader that holds the last item gets the gap after it", async () => {
    let runs = 0;
    const methods = {
      count: stream({}, async function* (_params, call) {
        runs++;
        yield runs;
        if (runs === 1) await once(call.signal, "abort");
      }),
    };
    await using wire = await open(createServer(methods));
    const client = createClient<typeof methods>(wire.link);
    const seen: unknown[] = [];
    const options = { idempotent: true, onGap: () => seen.push("gap") };
    for await (const item of client.stream("count", undefined, options)) {
      if (item === 1) wire.proxy.cut();
      while (runs < 2) await turn();
      seen.push(item);
    }
    expect(seen).toEqual([1, "gap", 2]);
  });

  test("a call that was sent fails and never runs twice, one that waits is sent", async () => {
    const { runs, methods, server, release } = journalled();
    await using wire = await open(server);
    const client = createClient<typeof methods>(wire.link);
    const sent = client.api.write("once").catch((error: WireError) => error.code);
    while (runs.length === 0) await turn();
    wire.proxy.cut();
    expect(await sent).toBe("CONNECTION_LOST");
    expect(await client.api.add(2, 3)).toBe(5);
    expect(runs).toEqual(["once"]);
    for (const finish of release) finish();
  });
});

/** Like a proxy whose server is gone. */
function hangUpAt(port: number): void {
  const listener = createListener((socket) => {
    socket.on("error", () => {});
    socket.end();
  });
  listener.listen(port, "127.0.0.1");
  onTestFinished(() => void listener.close());
}

const turn = () => new Promise((resolve) => setImmediate(resolve));
