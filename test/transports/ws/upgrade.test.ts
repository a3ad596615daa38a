import { type IncomingHttpHeaders, request } from "node:http";
import { connect as connectSocket, type Socket } from "node:net";
import { createClient, createServer, type Log, type Methods, method, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { connectWebSocket, wsUpgrade } from "callwire/ws/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { z } from "zod";
import { textFrames } from "../../../src/transports/ws/frames.ts";
import { deferred } from "../contract/wire.ts";
import { socketBytes } from "../socket-bytes.ts";
import { ended, frame, handshake, heard, until, upgraded } from "./bare-socket.ts";
import { rawClient, type Served, serve, turn } from "./serving.ts";

const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
const echoed = { jsonrpc: "2.0", result: "hi", id: 1 };
const methods = { echo: (value: unknown) => value };

/** A method that runs until its signal aborts, and reports both. */
function endless(): { methods: Methods; started: Promise<void>; aborted: Promise<unknown> } {
  let start = (): void => {};
  let abort = (_reason: unknown): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const aborted = new Promise((resolve) => {
    abort = resolve;
  });
  const wait = method({}, (_, { signal }) => {
    start();
    return new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        abort(signal.reason);
        resolve(null);
      });
    });
  });
  return { methods: { ...methods, wait }, started, aborted };
}

describe("a plain client", () => {
  test("gets the reply that the seeds print", async () => {
    const params = z.object({ message: z.string() });
    const { url } = await serve({
      paritosh: { echo: method({ params }, ({ message }) => `[Paritosh] ${message}`) },
    });
    const ws = new WebSocket(url);
    ws.on("open", () => {
      const msg = {
        jsonrpc: "2.0",
        method: "paritosh/echo",
        params: { message: "hi" },
        id: 901,
      };
      ws.send(JSON.stringify(msg));
    });
    const data = await new Promise((resolve) => ws.on("message", resolve));
    expect(String(data)).toBe('{"jsonrpc":"2.0","result":"[Paritosh] hi","id":901}');
    ws.terminate();
  });

  test("is not offered compression, which costs more than it saves", async () => {
    const { url } = await serve(methods);
    const { ws } = await rawClient(url);
    expect(ws.extensions).toBe("");
  });

  test("gets the replies to what it sent before it closed", async () => {
    const { port } = await serve(methods);
    const socket = await upgraded(port);
    const close = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
    socket.write(Buffer.concat([textFrames([echo, echo], true), close]));
    const answer = await ended(socket);
    expect(answer.toString("latin1").match(/"result":"hi"/g)).toHaveLength(2);
    expect(answer.subarray(-4)).toEqual(Buffer.from([0x88, 0x02, 0x03, 0xe8]));
  });
});

test("the replies to calls that arrived together leave in one write", async () => {
  const served = await serve({ ...methods, later: async (value: unknown) => value });
  const writes = countWrites(served);
  const socket = await upgraded(served.port);
  for (const name of ["echo", "later"]) {
    writes.count = 0;
    const calls = Array.from({ length: 100 }, (_, id) =>
      echo.replace("echo", name).replace(":1}", `:${id}}`),
    );
    socket.write(textFrames(calls, true));
    await heard(socket, `"id":99}`);
    expect(writes.count).toBe(1);
  }
});

describe("a message that is none", () => {
  test("a binary frame is answered with an error, and the next message is served", async () => {
    const { url } = await serve(methods);
    const { ws, inbox } = await rawClient(url);
    ws.send(Buffer.from(echo));
    expect(await inbox.message()).toMatchObject({ error: { code: -32700 }, id: null });
    ws.send(echo);
    expect(await inbox.message()).toEqual(echoed);
  });

  test("ten of them in a row close the connection with 1008", async () => {
    const { url } = await serve(methods);
    const { ws, inbox, closed } = await rawClient(url);
    for (let i = 0; i < 10; i++) ws.send("garbage");
    expect(await closed).toEqual([1008, "too many messages that are not JSON-RPC"]);
    for (let i = 0; i < 10; i++) {
      expect(await inbox.message()).toMatchObject({ error: { code: -32700 } });
    }
    expect(await inbox.next()).toBeUndefined();
  });

  test("text that is not UTF-8 closes it with 1007", async () => {
    const { url } = await serve(methods);
    const { ws, closed } = await rawClient(url);
    ws.send(Buffer.from([0x22, 0xff, 0x22]), { binary: false });
    expect(await closed).toEqual([1007, ""]);
  });

  test("one that is too long gets an error, and closes it with 1009", async () => {
    const { methods, started, aborted } = endless();
    const { url } = await serve(methods, { server: { limits: { maxMessageBytes: 1000 } } });
    const { ws, inbox, closed } = await rawClient(url);
    ws.send('{"jsonrpc":"2.0","method":"wait","id":1}');
    await started;
    ws.send(`"${"x".repeat(1000)}"`);
    expect(await inbox.message()).toMatchObject({
      error: {
        code: -32600,
        data: {
          limit: "maxMessageBytes",
          max: 1000,
          details: "a message must have at most 1000 bytes",
        },
      },
      id: null,
    });
    expect(await closed).toEqual([1009, ""]);
    await aborted;
  });

  test("one that is too long in fragments closes it, too", async () => {
    const { url } = await serve(methods, { server: { limits: { maxMessageBytes: 1000 } } });
    const { ws, closed } = await rawClient(url);
    for (let i = 0; i < 20; i++) ws.send("x".repeat(100), { fin: false });
    expect((await closed)[0]).toBe(1009);
  });
});

describe("a client that does not read", () => {
  test("is disconnected without a closing handshake once too much waits for it", async () => {
    const limits = { maxBufferedBytes: 256 * 1024 };
    let stop = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const { url } = await serve(
      {
        flood: method({}, async (_, call) => {
          while (call.notify("pushed", ["x".repeat(10_000)])) await turn();
          stop();
        }),
      },
      { server: { limits } },
    );
    const { ws, closed } = await rawClient(url);
    ws.pause();
    ws.send('{"jsonrpc":"2.0","method":"flood","id":1}');
    await stopped;
    ws.resume();
    expect(await closed).toEqual([1006, ""]);
  });

  test.each([
    [256 * 1024, 10_000],
    // Less than Node buffers before it reports that a socket is full.
    [16 * 1024, 3_000],
  ])("stops a stream at %i bytes, which continues when it reads again", async (most, length) => {
    const limits = { maxBufferedBytes: most };
    const count = Math.ceil((socketBytes + 4 * 1024 * 1024) / length);
    let made = 0;
    const { url } = await serve(
      {
        items: async function* () {
          for (; made < count; made++) yield "x".repeat(length);
        },
      },
      { server: { limits } },
    );
    const { ws, inbox } = await rawClient(url);
    ws.pause();
    ws.send('{"jsonrpc":"2.0","method":"items","id":1}');
    await until(() => made > 0);
    let before = -1;
    for (let same = 0; same < 50; same = made === before ? same + 1 : 0) {
      before = made;
      await turn();
    }
    expect(made).toBeLessThan(count);
    ws.resume();
    for (let i = 0; i < count; i++) {
      if ((await inbox.message())["params"] === undefined) throw new Error(`item ${i} is missing`);
    }
    expect(await inbox.message()).toHaveProperty("result");
  });
});

describe("signs of life", () => {
  test("a client is pinged every 30 seconds, and stays connected if it answers", async () => {
    const clock = new FakeClock();
    const { url } = await serve(methods, { clock });
    const { ws, inbox } = await rawClient(url);
    clock.advance(10_000);
    for (let i = 0; i < 5; i++) {
      const ping = new Promise((resolve) => ws.once("ping", resolve));
      clock.advance(20_000);
      await ping;
      ws.send(echo);
      expect(await inbox.message()).toEqual(echoed);
      clock.advance(10_000);
    }
  });

  test("a client without a sign for 40 seconds is disconnected, and its calls end", async () => {
    const clock = new FakeClock();
    const { methods, started, aborted } = endless();
    const { url } = await serve(methods, { clock });
    const ws = new WebSocket(url, { autoPong: false });
    onTestFinished(() => ws.terminate());
    const closed = new Promise((resolve) => ws.on("close", resolve));
    await new Promise((resolve) => ws.on("open", resolve));
    ws.send('{"jsonrpc":"2.0","method":"wait","id":1}');
    await started;
    clock.advance(39_999);
    await turn();
    expect(ws.readyState).toBe(WebSocket.OPEN);
    clock.advance(1);
    expect(await closed).toBe(1006);
    await aborted;
    expect(clock.waiting).toBe(0);
  });

  test("one that takes as long for a single message is closed with 1008", async () => {
    const clock = new FakeClock();
    const { port, http } = await serve(methods, { clock });
    const received = new Promise<Socket>((resolve) => http.on("connection", resolve));
    const socket = await upgraded(port);
    const { bytesRead } = await received;
    const server = await received;
    clock.advance(30_000);
    socket.write(textFrames([echo], true).subarray(0, 20));
    await until(() => server.bytesRead > bytesRead);
    clock.advance(10_000);
    // The code 1008, as the close frame has it.
    await heard(socket, "\x03\xf0");
  });

  test("no timer waits for a closed connection", async () => {
    const clock = new FakeClock();
    const { url, server } = await serve(methods, { clock });
    const { ws, closed } = await rawClient(url);
    expect(clock.waiting).toBe(1);
    ws.close();
    await closed;
    await until(() => clock.waiting === 0);
    await server.close();
  });
});

describe("admission", () => {
  test("calls have the principal, the address and the headers of their connection", async () => {
    const { url } = await serve(
      { who: method({}, (_, { principal, transport }) => ({ principal, transport })) },
      {
        async verify({ headers }) {
          return headers.authorization === "Bearer t" ? { principal: { id: "ann" } } : undefined;
        },
      },
    );
    const connection = await connectWebSocket(url, { headers: { Authorization: "Bearer t" } });
    onTestFinished(() => connection.close());
    expect(await connection.call("who")).toMatchObject({
      principal: { id: "ann" },
      transport: {
        kind: "websocket",
        remoteAddress: "127.0.0.1",
        headers: { authorization: "Bearer t" },
      },
    });
  });

  test("a refusal is an answer in HTTP, before the upgrade", async () => {
    const { port } = await serve(methods, {
      verify: () => ({
        status: 401,
        message: "Who are you?",
        headers: { "www-authenticate": "Bearer\r\nx-added: 1" },
      }),
    });
    const { status, headers, body } = await refused(port);
    expect(status).toBe(401);
    expect(headers["www-authenticate"]).toBe("Bearer  x-added: 1");
    expect(headers).not.toHaveProperty("x-added");
    expect(body).toBe("Who are you?");
  });

  test("a check that throws refuses, and only the log has the reason", async () => {
    const logged: unknown[] = [];
    const log: Log = { ...silentLog, error: (fields) => logged.push(fields) };
    const { port } = await serve(methods, {
      server: { log },
      verify: () => Promise.reject(new Error("secret")),
    });
    const { status, body } = await refused(port);
    expect([status, body]).toEqual([500, "Internal error"]);
    expect(logged).toMatchObject([{ err: { message: "secret" } }]);
  });

  test.each([true, false, null, "no", { status: 401 }, { principal: null }])(
    "a check that returns %j refuses, and logs what it may return",
    async (verdict) => {
      const logged: unknown[] = [];
      const log: Log = { ...silentLog, error: (fields) => logged.push(fields) };
      const { port } = await serve(methods, { server: { log }, verify: () => verdict as never });
      const { status, body } = await refused(port);
      expect([status, body]).toEqual([500, "Internal error"]);
      const message = "verify must return undefined, { principal } or { status, message }";
      expect(logged).toMatchObject([{ err: { message } }]);
    },
  );

  test("a client that leaves during the check leaves nothing behind", async () => {
    let decide = (): void => {};
    let asked = (): void => {};
    const checking = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const { port, http } = await serve(methods, {
      verify: () =>
        new Promise((resolve) => {
          decide = () => resolve(undefined);
          asked();
        }),
    });
    const socket = connectSocket(port, "127.0.0.1");
    socket.write(handshake);
    await checking;
    socket.resetAndDestroy();
    await until(async () => (await connectionsOf(http)) === 0);
    decide();
    await turn();
    expect(await connectionsOf(http)).toBe(0);
  });

  test("connections over the limit are refused until one is gone", async () => {
    const { url, port, http } = await serve(methods, { maxConnections: 2 });
    const first = await rawClient(url);
    await rawClient(url);
    const { status, headers } = await refused(port);
    expect([status, headers["retry-after"]]).toEqual([503, "1"]);
    first.ws.terminate();
    await until(async () => (await connectionsOf(http)) === 1);
    const third = await rawClient(url);
    third.ws.send(echo);
    expect(await third.inbox.message()).toEqual(echoed);
  });

  test("a request with more than a hundred headers is refused, because they would be kept", async () => {
    const { port } = await serve(methods);
    const headers = Array.from({ length: 100 }, (_, i) => [`x-${i}`, "1"]);
    expect(await refused(port, Object.fromEntries(headers))).toMatchObject({ status: 431 });
  });

  test("one address cannot take all of them", async () => {
    const { url, port, http } = await serve(methods, { maxConnectionsPerAddress: 1 });
    const first = await rawClient(url);
    expect(await refused(port)).toMatchObject({ status: 503, body: "Too many connections" });
    first.ws.terminate();
    await until(async () => (await connectionsOf(http)) === 0);
    await rawClient(url);
  });

  test("a request that is not a WebSocket upgrade is refused", async () => {
    const { port } = await serve(methods);
    expect(await refused(port, { "sec-websocket-version": "7" })).toMatchObject({ status: 400 });
  });
});

test("an HTTP server that closes lets calls on its sockets finish, and its service continues", async () => {
  const work = deferred();
  const service = createServer({ ...methods, wait: () => work.promise }, { log: silentLog });
  onTestFinished(() => service.close());
  const http = await serveHttp(service, { port: 0 });
  const { ws, inbox, closed } = await rawClient(`ws://127.0.0.1:${http.port}/rpc/ws`);
  ws.send('{"jsonrpc":"2.0","method":"wait","id":1}');
  ws.send(echo);
  expect(await inbox.message()).toEqual(echoed);
  const closing = http.close();
  ws.send('{"jsonrpc":"2.0","method":"echo","id":2}');
  expect(await inbox.message()).toMatchObject({ error: { code: -32006 }, id: 2 });
  work.resolve();
  expect(await inbox.message()).toMatchObject({ result: null, id: 1 });
  expect(await closed).toEqual([1001, "the server is going away"]);
  await closing;
  expect(service.receive(echo)).toBe(JSON.stringify(echoed));
});

describe("a server that closes", () => {
  test("closes with 1001, after the last reply", async () => {
    let release = (): void => {};
    let begun = (): void => {};
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const { url, port, server } = await serve({
      work: () =>
        new Promise((resolve) => {
          release = () => resolve("done");
          begun();
        }),
    });
    const { ws, inbox, closed } = await rawClient(url);
    const idle = await rawClient(url);
    ws.send('{"jsonrpc":"2.0","method":"work","id":1}');
    await started;
    const closing = server.close();
    expect(await refused(port)).toMatchObject({ status: 503, body: "Server is shutting down" });
    release();
    expect(await inbox.message()).toEqual({ jsonrpc: "2.0", result: "done", id: 1 });
    expect(await closed).toEqual([1001, "the server is going away"]);
    expect((await idle.closed)[0]).toBe(1001);
    await closing;
  });

  test("does not wait forever for a client that does not answer", async () => {
    const { port, server, http } = await serve(methods);
    const socket = await upgraded(port);
    socket.pause();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let closed = false;
    const closing = server.close().then(() => {
      closed = true;
    });
    let waitedMs = 0;
    for (; !closed && waitedMs < 5000; waitedMs += 100) {
      await vi.advanceTimersByTimeAsync(100);
      await turn();
    }
    expect(waitedMs).toBeLessThan(5000);
    await closing;
    await until(async () => (await connectionsOf(http)) === 0);
  });
});

test("a client may break off after any byte", async () => {
  const { port, http, url } = await serve(methods);
  const bytes = Buffer.concat([Buffer.from(handshake), textFrames([echo, "x".repeat(200)], true)]);
  for (let end = 0; end <= bytes.length; end += 3) {
    const socket = connectSocket(port, "127.0.0.1");
    socket.on("error", () => {});
    await new Promise<void>((resolve) => socket.write(bytes.subarray(0, end), () => resolve()));
    if (end % 2 === 0) socket.resetAndDestroy();
    else socket.destroy();
  }
  await until(async () => (await connectionsOf(http)) === 0);
  const { ws, inbox } = await rawClient(url);
  ws.send(echo);
  expect(await inbox.message()).toEqual(echoed);
});

test("a thousand calls answered out of order reach their callers", async () => {
  const waiting: (() => void)[] = [];
  const { url } = await serve({
    gather: (value: number) =>
      new Promise((resolve) => {
        waiting.push(() => resolve(value));
        if (waiting.length === 1000) for (const answer of waiting.reverse()) answer();
      }),
  });
  const connection = await connectWebSocket(url);
  const client = createClient(connection);
  const calls = Array.from({ length: 1000 }, (_, i) => client.call("gather", [i]));
  expect(await Promise.all(calls)).toEqual(Array.from({ length: 1000 }, (_, i) => i));
  await client.close();
});

test("pings of a client that does not read fill no memory, and the last is answered when it reads", async () => {
  const looked = deferred();
  let waiting = Number.NaN;
  const own: Socket[] = [];
  const { port, http } = await serve({
    look: () => {
      waiting = own[0]?.writableLength ?? Number.NaN;
      looked.resolve();
    },
  });
  http.on("connection", (socket) => own.push(socket));
  const socket = await upgraded(port);
  socket.pause();
  // More than the system buffers for a socket.
  const pings = Buffer.concat(Array<Buffer>(200_000).fill(ping("x".repeat(125))));
  const look = textFrames(['{"jsonrpc":"2.0","method":"look","id":1}'], true);
  socket.write(Buffer.concat([pings, ping("last"), look]));
  await looked.promise;
  expect(waiting).toBeLessThan(1024 * 1024);
  const answered = heard(socket, "\x8a\x04last");
  socket.resume();
  await answered;
  // After that each is answered again.
  const again = heard(socket, "\x8a\x05again");
  socket.write(ping("again"));
  await again;
});

function ping(text: string): Buffer {
  return frame(0x89, text, true);
}

interface Refusal {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

function refused(port: number, headers: Record<string, string> = {}): Promise<Refusal> {
  const asked = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "Y2FsbHdpcmUgYmVuY2ghIQ==",
    ...headers,
  };
  return new Promise((resolve, reject) => {
    request({ port, host: "127.0.0.1", headers: asked })
      .on("upgrade", (_, socket) => {
        socket.destroy();
        reject(new Error("the upgrade was accepted"));
      })
      .on("error", reject)
      .on("response", async (response) => {
        let body = "";
        for await (const chunk of response) body += chunk;
        resolve({ status: response.statusCode, headers: response.headers, body });
      })
      .end();
  });
}

function connectionsOf(http: Served["http"]): Promise<number> {
  return new Promise((resolve, reject) => {
    http.getConnections((error, count) => (error ? reject(error) : resolve(count)));
  });
}

function countWrites({ http }: Served): { count: number } {
  const writes = { count: 0 };
  http.on("connection", (socket: Socket) => {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    socket.write = (...args: unknown[]) => {
      writes.count++;
      return write(...args);
    };
  });
  return writes;
}

describe("the option path", () => {
  test("opens WebSockets at this path only, with or without a query", async () => {
    const { port } = await serve(methods, { path: "/live" });
    const at = (path: string) => connectWebSocket(`ws://127.0.0.1:${port}${path}`);
    for (const path of ["/live", "/live?token=x"]) {
      const connection = await at(path);
      expect(await connection.call("echo", ["hi"])).toBe("hi");
      await connection.close();
    }
    await expect(at("/other")).rejects.toMatchObject({ status: 404 });
  });

  test("leaves upgrades of other paths to the other listeners", async () => {
    const { port, http } = await serve(methods, { path: "/live" });
    http.on("upgrade", (request, socket) => {
      if (request.url === "/other") socket.end("HTTP/1.1 418 I'm a teapot\r\n\r\n");
    });
    const other = connectWebSocket(`ws://127.0.0.1:${port}/other`);
    await expect(other).rejects.toMatchObject({ status: 418 });
  });

  test("must begin with a slash", () => {
    expect(() => wsUpgrade(createServer(methods), { path: "live" })).toThrow(
      '"path" must begin with a slash, not "live"',
    );
  });
});
