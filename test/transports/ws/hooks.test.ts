import type { AddressInfo } from "node:net";
import {
  createClient,
  createServer,
  type Methods,
  method,
  type ServerOptions,
  silentLog,
} from "callwire";
import { connectWebSocket, type WsHooks, type WsPeer, wsHandler } from "callwire/ws";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import { deferred } from "../contract/wire.ts";
import { rawClient, turn } from "./serving.ts";

const methods = { echo: (value: unknown) => value };
const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
const echoed = '{"jsonrpc":"2.0","result":"hi","id":1}';

/** A peer as in crossws, on a WebSocket of `ws`. */
function peerOf(ws: WebSocket, headers: Record<string, string>, context: object): WsPeer {
  return {
    send: (message) => ws.send(message),
    close: (code, reason) => ws.close(code, reason),
    terminate: () => ws.terminate(),
    // The only member that says how much is buffered.
    websocket: ws,
    request: new Request("http://localhost/", { headers }),
    remoteAddress: "127.0.0.1",
    context,
  };
}

/** Mounts the hooks as crossws does. */
async function mount(hooks: WsHooks): Promise<string> {
  const server = new WebSocketServer({
    port: 0,
    host: "127.0.0.1",
    verifyClient({ req }, decide) {
      void Promise.resolve(hooks.upgrade(new Request("http://localhost/"))).then((verdict) => {
        if (verdict instanceof Response) return decide(false, verdict.status);
        Object.assign(req, verdict);
        decide(true);
      });
    },
  });
  server.on("connection", (ws, request) => {
    const { context } = request as unknown as { context: object };
    const peer = peerOf(ws, request.headers as Record<string, string>, context);
    hooks.open(peer);
    ws.on("message", (data) => {
      // In Node, crossws has bytes for all messages, and does not say which are text.
      const rawData = Buffer.from(data as Buffer);
      hooks.message(peer, { rawData, text: () => rawData.toString() });
      // Other platforms use their buffer again.
      rawData.fill(255);
    });
    ws.on("close", (code, reason) => hooks.close(peer, { code, reason: reason.toString() }));
    ws.on("error", (error) => hooks.error(peer, error));
  });
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function serverOf(given: Methods, options: ServerOptions = {}) {
  return createServer(given, { log: silentLog, ...options });
}

/** A peer in memory, which records what was sent to it. */
class FakePeer implements WsPeer {
  readonly sent: (string | Uint8Array)[] = [];
  closedWith: unknown[] | undefined;
  bufferedAmount = 0;
  data: WsPeer["data"];
  send(message: string | Uint8Array): void {
    this.sent.push(message);
  }
  close(code?: number, reason?: string): void {
    this.closedWith = [code, reason];
  }
}

describe("mounted in a framework", () => {
  test("calls, streams and calls back work", async () => {
    const server = serverOf({
      ...methods,
      back: method({}, (_, call) => call.peer.call("twice", [21])),
      transport: method({}, (_, { transport }) => transport),
      count: async function* (to: number) {
        for (let i = 0; i < to; i++) yield i;
      },
    });
    const url = await mount(wsHandler(server));
    const service = createServer({ twice: (n: number) => n * 2 });
    const connection = await connectWebSocket(url, { service, headers: { "x-a": "1" } });
    expect(await connection.call("echo", ["hi"])).toBe("hi");
    expect(await connection.call("back")).toBe(42);
    expect(await connection.call("transport")).toMatchObject({
      kind: "websocket",
      remoteAddress: "127.0.0.1",
      headers: { "x-a": "1" },
    });
    let items = 0;
    for await (const item of createClient(connection).stream("count", [1000])) {
      expect(item).toBe(items++);
    }
    expect(items).toBe(1000);
    await connection.close();
  });

  test("files pass beside the messages, in both directions", async () => {
    const server = serverOf({
      copy: method({ limits: { maxFileBytes: 3_000_000 } }, async (params) => {
        const { file } = params as { file: Blob };
        return new Blob([await file.arrayBuffer()]);
      }),
    });
    const connection = await connectWebSocket(await mount(wsHandler(server)));
    const bytes = new Uint8Array(3_000_000).map((_, i) => i * 7 + (i >> 8));
    const client = createClient(connection, { values: "rich" });
    const copy = await client.call<Blob>("copy", { file: new Blob([bytes]) });
    expect(Buffer.compare(new Uint8Array(await copy.arrayBuffer()), bytes)).toBe(0);
    await connection.close();
  });

  test("a request is admitted with its principal, or refused with a status", async () => {
    let known = true;
    const server = serverOf({ who: method({}, (_, { principal }) => principal) });
    const url = await mount(
      wsHandler(server, {
        verify: () => (known ? { principal: { id: "ann" } } : { status: 403, message: "no" }),
      }),
    );
    const connection = await connectWebSocket(url);
    expect(await connection.call("who")).toEqual({ id: "ann" });
    known = false;
    await expect(connectWebSocket(url)).rejects.toMatchObject({ status: 403 });
    await connection.close();
  });

  test("connections over the limit are refused", async () => {
    const url = await mount(wsHandler(serverOf(methods), { maxConnections: 1 }));
    const connection = await connectWebSocket(url);
    await expect(connectWebSocket(url)).rejects.toMatchObject({ status: 503 });
    await connection.close();
  });

  test("connections that were admitted at the same moment are counted too", async () => {
    const asked = deferred();
    let count = 0;
    const verify = async (): Promise<undefined> => {
      if (++count === 2) asked.resolve();
      await asked.promise;
    };
    const url = await mount(wsHandler(serverOf(methods), { maxConnections: 1, verify }));
    const both = [new WebSocket(url), new WebSocket(url)];
    const code = await Promise.race(
      both.map((ws) => new Promise((resolve) => ws.once("close", resolve))),
    );
    expect(code).toBe(1013);
    const [other] = both.filter((ws) => ws.readyState === WebSocket.OPEN);
    expect(other).toBeDefined();
    other?.terminate();
  });

  test("a server that closes sends 1001 and refuses the next connection", async () => {
    const server = serverOf(methods);
    const url = await mount(wsHandler(server));
    const { closed } = await rawClient(url);
    await server.close();
    expect((await closed)[0]).toBe(1001);
    await expect(connectWebSocket(url)).rejects.toMatchObject({ status: 503 });
  });

  test("a client that leaves ends the calls that it made", async () => {
    let aborted = (): void => {};
    const ended = new Promise<void>((resolve) => {
      aborted = resolve;
    });
    const server = serverOf({
      wait: method({}, (_, { signal }) => {
        return new Promise((resolve) => {
          signal.addEventListener("abort", () => {
            aborted();
            resolve(null);
          });
        });
      }),
    });
    const { ws } = await rawClient(await mount(wsHandler(server)));
    ws.send('{"jsonrpc":"2.0","method":"wait","id":1}');
    await until(() => server.running.size === 1);
    ws.terminate();
    await ended;
  });
});

describe("messages", () => {
  test("text is a string, or in an object", () => {
    const hooks = wsHandler(serverOf(methods));
    const peer = new FakePeer();
    hooks.open(peer);
    hooks.message(peer, echo);
    hooks.message(peer, { text: () => echo });
    expect(peer.sent).toEqual([echoed, echoed]);
  });

  test("bytes are answered with an error, and ten of them with 1008", () => {
    const hooks = wsHandler(serverOf(methods));
    const peer = new FakePeer();
    hooks.open(peer);
    for (let i = 0; i < 12; i++) hooks.message(peer, new Uint8Array(3));
    expect(peer.sent).toHaveLength(10);
    expect(peer.sent[0]).toContain("-32700");
    expect(peer.closedWith).toEqual([1008, "too many messages that are not JSON-RPC"]);
  });

  test.each([
    ["a peer of crossws", {}, true],
    [
      "a peer of crossws whose socket makes bytes",
      { websocket: { binaryType: "nodebuffer" } },
      true,
    ],
    ["a peer of crossws whose socket makes Blobs", { websocket: { binaryType: "blob" } }, false],
    ["a plain WebSocket", { binaryType: "blob" }, true],
  ])("frames of bytes are accepted from %s: %s, %s", async (_, kind, accepts) => {
    const hooks = wsHandler(serverOf(methods));
    const peer: FakePeer & { binaryType?: string } = Object.assign(new FakePeer(), kind);
    hooks.open(peer);
    const params = { maxFrameBytes: 65542 };
    hooks.message(
      peer,
      JSON.stringify({ jsonrpc: "2.0", method: "$/acceptsBytes", params, id: 1 }),
    );
    await until(() => peer.sent.length > 0);
    const { result, error } = JSON.parse(String(peer.sent[0]));
    expect(result).toEqual(accepts ? params : undefined);
    expect(error?.code).toBe(accepts ? undefined : -32601);
    if (peer.binaryType !== undefined) expect(peer.binaryType).toBe("arraybuffer");
  });

  test("a peer that is not known is left alone", () => {
    const hooks = wsHandler(serverOf(methods));
    const peer = new FakePeer();
    hooks.message(peer, echo);
    hooks.drain(peer);
    hooks.close(peer, 1000, "");
    hooks.error(peer, "no error");
    expect(peer.sent).toEqual([]);
  });
});

describe("a peer that does not read", () => {
  test.each([true, false])(
    "is disconnected once too much waits for it, or closed with 1013 if the platform cannot: %s",
    (can) => {
      const hooks = wsHandler(serverOf(methods));
      const peer: FakePeer & { terminate?: () => void } = new FakePeer();
      let isCut = false;
      if (can) {
        peer.terminate = () => {
          isCut = true;
        };
      }
      hooks.open(peer);
      peer.bufferedAmount = 5 * 1024 * 1024;
      hooks.message(peer, echo);
      expect(isCut).toBe(can);
      expect(peer.closedWith).toEqual(can ? undefined : [1013, "the client reads too slowly"]);
    },
  );

  test("is disconnected if only the socket behind a peer of crossws says how much waits", () => {
    const hooks = wsHandler(serverOf(methods));
    const websocket = { bufferedAmount: 5 * 1024 * 1024 };
    let isCut = false;
    const terminate = () => {
      isCut = true;
    };
    const peer: WsPeer = { send: () => {}, close: () => {}, terminate, websocket };
    hooks.open(peer);
    hooks.message(peer, echo);
    expect(isCut).toBe(true);
  });

  test.each(["the drain hook", "looking again"])(
    "stops a stream until %s reports room",
    async (how) => {
      let made = 0;
      const items = async function* () {
        for (; made < 100; made++) yield made;
      };
      const hooks = wsHandler(serverOf({ items }));
      const peer = new FakePeer();
      hooks.open(peer);
      peer.send = (text) => {
        peer.sent.push(text);
        if (made === 50) peer.bufferedAmount = 2 * 1024 * 1024;
      };
      hooks.message(peer, '{"jsonrpc":"2.0","method":"items","id":1}');
      await until(() => peer.bufferedAmount > 0);
      for (let i = 0; i < 10; i++) await turn();
      expect(made).toBeLessThan(60);
      peer.bufferedAmount = 0;
      if (how === "the drain hook") hooks.drain(peer);
      await until(() => String(peer.sent.at(-1)).includes("result"));
      expect(made).toBe(100);
    },
  );
});

test.each([true, false])(
  "a peer that reads nothing for ten seconds is dropped: terminate %s",
  (can) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const hooks = wsHandler(serverOf(methods));
    const peer: FakePeer & { terminate?: () => void } = new FakePeer();
    let dropped = false;
    if (can) {
      peer.terminate = () => {
        dropped = true;
      };
    }
    hooks.open(peer);
    peer.bufferedAmount = 3 * 1024 * 1024;
    hooks.message(peer, echo);
    vi.advanceTimersByTime(9_000);
    // It read a little.
    peer.bufferedAmount = 2 * 1024 * 1024;
    vi.advanceTimersByTime(9_000);
    expect([dropped, peer.closedWith]).toEqual([false, undefined]);
    vi.advanceTimersByTime(2_000);
    expect(dropped).toBe(can);
    if (!can) expect(peer.closedWith).toEqual([1013, "the client reads too slowly"]);
    expect(vi.getTimerCount()).toBe(0);
  },
);

test("Bun is told how long messages may be", () => {
  const limits = (maxMessageBytes: number) => ({ limits: { maxMessageBytes } });
  expect(wsHandler(serverOf(methods)).maxPayloadLength).toBe(2 * 1024 * 1024);
  expect(wsHandler(serverOf(methods, limits(1e4))).maxPayloadLength).toBe(2e4);
  expect(wsHandler(serverOf(methods, limits(1e12))).maxPayloadLength).toBe(2 ** 32 - 1);
});

test("a peer whose send throws counts as gone", async () => {
  const server = serverOf(methods);
  const hooks = wsHandler(server);
  const peer = new FakePeer();
  hooks.open(peer);
  peer.send = () => {
    throw new Error("not open");
  };
  hooks.message(peer, echo);
  await server.close();
  expect(peer.closedWith).toBeUndefined();
});

test("a peer that does not answer a close is terminated", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const server = serverOf(methods);
  const hooks = wsHandler(server);
  const peer = new FakePeer();
  hooks.open(peer);
  const closing = server.close();
  await vi.advanceTimersByTimeAsync(5000);
  await closing;
  expect(peer.closedWith).toEqual([1001, "the server is going away"]);
});

test("the hooks fit Bun, which has data and reports a close by its code", async () => {
  const server = serverOf({
    who: method({}, (_, { principal, transport }) => [principal, transport.headers]),
  });
  const hooks = wsHandler(server, { verify: () => ({ principal: { id: "ann" } }) });
  const request = new Request("http://localhost/", { headers: { "x-a": "1" } });
  const peer = new FakePeer();
  peer.data = { ...(await hooks.upgrade(request)), request };
  hooks.open(peer);
  hooks.message(peer, '{"jsonrpc":"2.0","method":"who","id":1}');
  expect(peer.sent.splice(0)).toEqual([
    '{"jsonrpc":"2.0","result":[{"id":"ann"},{"x-a":"1"}],"id":1}',
  ]);
  hooks.close(peer, 1006, "");
  hooks.message(peer, echo);
  expect(peer.sent).toEqual([]);
  await server.close();
  expect(peer.closedWith).toBeUndefined();
});

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turn();
}
