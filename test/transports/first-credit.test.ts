/** A reader that sends nothing to the producer: its messages are held, so that it gives no credit. */
import { MessageChannel } from "node:worker_threads";
import {
  type Client,
  createClient,
  createServer,
  type Link,
  type Middleware,
  silentLog,
  stream,
} from "callwire";
import { type Channel, Connection } from "callwire/connection";
import { createGateway } from "callwire/gateway";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { serveSocket, tcpLink } from "callwire/tcp";
import { portLink, servePort } from "callwire/worker";
import { webSocketLink } from "callwire/ws";
import { describe, expect, onTestFinished, test } from "vitest";
import { HandChannel, transport } from "../connection/hand-channel.ts";
import { turn } from "./contract-methods.ts";
import { standstill } from "./standstill.ts";

/** A producer has made one more, which waits to be sent. */
const window = 64;

function endless() {
  const state = { made: 0 };
  const methods = {
    numbers: stream({}, async function* () {
      for (;;) yield state.made++;
    }),
  };
  // The call is dispatched after the message in which it arrived.
  const slowly: Middleware = (next) => async (request, context) => {
    await turn();
    return next(request, context);
  };
  const server = createServer(methods, { log: silentLog, use: [slowly] });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const halted = async () => {
    while (state.made === 0) await turn();
    return standstill(() => {
      if (state.made > 2_000) throw new Error(`${state.made} items were made, and it goes on`);
      return state.made;
    });
  };
  return { methods, server, halted };
}

type Endless = ReturnType<typeof endless>;

/** Holds all incoming messages until it is released. */
class Held implements Channel {
  readonly #channel: Channel;
  readonly #late: (() => void)[] = [];
  #isOpen = false;

  constructor(channel: Channel) {
    this.#channel = channel;
  }

  get bufferedBytes(): number {
    return this.#channel.bufferedBytes;
  }

  listen(listener: Parameters<Channel["listen"]>[0]): void {
    const message = (text: string): void => {
      if (this.#isOpen) listener.message(text);
      else this.#late.push(() => listener.message(text));
    };
    this.#channel.listen({
      message,
      fault: (fault) => listener.fault(fault),
      drain: () => listener.drain(),
      end: (error) => listener.end(error),
    });
  }

  send(text: string): void {
    this.#channel.send(text);
  }

  close(...reason: Parameters<Channel["close"]>): void {
    this.#channel.close(...reason);
  }

  hold(): void {
    this.#isOpen = false;
  }

  release(): void {
    this.#isOpen = true;
    for (const hear of this.#late.splice(0)) hear();
  }
}

function holding() {
  const held: Held[] = [];
  const wrapChannel = (channel: Channel): Channel => {
    const own = new Held(channel);
    held.push(own);
    return own;
  };
  const hold = (): void => {
    for (const channel of held) channel.hold();
  };
  const release = (): void => {
    for (const channel of held) channel.release();
  };
  return { wrapChannel, hold, release };
}

type Wrap = (channel: Channel) => Channel;

const wires: Record<string, (served: Endless, wrapChannel: Wrap) => Promise<Link>> = {
  async TCP({ server }, wrapChannel) {
    const { port } = await serveSocket(server, { port: 0 });
    return tcpLink({ port: port as number, wrapChannel });
  },
  async WebSocket({ server }, wrapChannel) {
    const { url } = await serveHttp(server, { port: 0 });
    return webSocketLink(url.replace("http", "ws"), { wrapChannel });
  },
  async worker({ server }, wrapChannel) {
    const { port1, port2 } = new MessageChannel();
    servePort(server, port1);
    return portLink(port2, { wrapChannel });
  },
};

const readings: Record<string, (client: Client<Endless["methods"]>) => AsyncIterator<number>> = {
  "client.stream": (client) => client.stream("numbers")[Symbol.asyncIterator](),
  "client.api": (client) => client.api.numbers()[Symbol.asyncIterator](),
};

describe.each(Object.keys(wires))("over %s", (wire) => {
  test.each(
    // A port receives a call at once, before the client can know that it is iterated over.
    Object.keys(readings).filter((reading) => !(wire === "worker" && reading === "client.api")),
  )("a producer runs ahead of %s by a window, also at the start", async (reading) => {
    const served = endless();
    const { wrapChannel, release } = holding();
    const link = await (wires[wire] as (typeof wires)[string])(served, wrapChannel);
    const client = createClient<Endless["methods"]>(link);
    onTestFinished(() => client.close());
    const items = (readings[reading] as (typeof readings)[string])(client);
    const first = items.next();
    expect(await served.halted()).toBeLessThanOrEqual(window + 1);
    release();
    expect((await first).value).toBe(0);
    for (let i = 1; i < 1_000; i++) expect((await items.next()).value).toBe(i);
    expect(await served.halted()).toBeLessThanOrEqual(1_000 + window + 1);
    await items.return?.();
  });
});

describe("through a gateway", () => {
  async function joined(served: Endless, wrapChannel?: Wrap) {
    const { port } = await serveSocket(served.server, { port: 0 });
    const link = () => tcpLink({ port: port as number, wrapChannel });
    const gateway = await createGateway(
      {
        upstreams: { one: { targets: { one: link }, healthCheck: false } },
        routes: [{ method: "*", to: "one" }],
      },
      { log: silentLog, describeTimeoutMs: 60_000 },
    );
    onTestFinished(() => gateway.close({ drainMs: 0 }));
    return gateway;
  }

  test("a producer runs ahead by a window at each hop", async () => {
    const served = endless();
    const gateway = await joined(served);
    const { port } = await serveSocket(gateway, { port: 0 });
    const { wrapChannel } = holding();
    const client = createClient(tcpLink({ port: port as number, wrapChannel }));
    onTestFinished(() => client.close());
    client
      .stream("numbers")
      [Symbol.asyncIterator]()
      .next()
      .catch(() => {});
    expect(await served.halted()).toBeLessThanOrEqual(2 * window + 2);
  });

  test("also if the caller cannot send credit, but the method is known to stream", async () => {
    const served = endless();
    const { wrapChannel, hold, release } = holding();
    const gateway = await joined(served, (channel) => {
      const own = wrapChannel(channel);
      // The list of the upstream's methods has arrived.
      release();
      return own;
    });
    const { url } = await serveHttp(gateway, { port: 0 });
    const client = createClient(httpLink(url));
    onTestFinished(() => client.close());
    hold();
    client
      .stream("numbers")
      [Symbol.asyncIterator]()
      .next()
      .catch(() => {});
    expect(await served.halted()).toBeLessThanOrEqual(window + 1);
  });
});

describe("credit in a request", () => {
  function serve() {
    const served = endless();
    const channel = new HandChannel();
    new Connection(channel, { service: served.server, transport });
    const ask = (more: object) =>
      channel.hear({ jsonrpc: "2.0", method: "numbers", id: 1, ...more });
    const give = (count: number) =>
      channel.hear({ jsonrpc: "2.0", method: "$/credit", params: { id: 1, count } });
    return { ...served, channel, ask, give };
  }

  test("applies until the reader sends credit, which also counts from the first item", async () => {
    const { ask, give, halted } = serve();
    ask({ credit: 10 });
    expect(await halted()).toBe(11);
    give(12);
    expect(await halted()).toBe(13);
    give(5);
    expect(await halted()).toBe(18);
  });

  test.each([0, -1, "64", null])("that is not a number is ignored: %j", async (credit) => {
    const { ask, halted } = serve();
    ask({ credit });
    await expect(halted()).rejects.toThrow("goes on");
  });

  test("over HTTP, where no more could be given, is ignored", async () => {
    const { server } = endless();
    const { url } = await serveHttp(server, { port: 0 });
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: '{"jsonrpc":"2.0","method":"numbers","id":1,"credit":1}',
    });
    let events = "";
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      events += new TextDecoder().decode(chunk);
      if (events.includes('"value":100')) break;
    }
    expect(events).toContain('"value":100');
  });

  test("is sent for streams only, and not in the version of JSON-RPC that has no other members", () => {
    const channel = new HandChannel();
    const connection = new Connection(channel, { transport });
    const client = createClient(connection);
    client.stream("items");
    void client.call("items").catch(() => {});
    void client.notify("items");
    createClient(connection, { version: "1.0" }).stream("items");
    expect(channel.messages.map(({ credit }) => credit)).toEqual([
      64,
      undefined,
      undefined,
      undefined,
    ]);
  });
});
