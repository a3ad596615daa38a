import {
  createServer,
  type Methods,
  method,
  type Server,
  type ServerOptions,
  silentLog,
} from "callwire";
import {
  connectSocket,
  type ServeSocketOptions,
  type SocketServer,
  serveSocket,
} from "callwire/tcp";
import { describe, expect, onTestFinished, test } from "vitest";
import { socketBytes } from "../socket-bytes.ts";
import { aMoment, standstill } from "../standstill.ts";
import { RawSocket } from "./raw-socket.ts";

async function serve(
  methods: Methods,
  options: Partial<ServeSocketOptions> & Pick<ServerOptions, "limits"> = {},
): Promise<SocketServer & { readonly port: number }> {
  const { limits = {}, ...rest } = options;
  const server: Server = createServer(methods, { log: silentLog, limits });
  const socket = await serveSocket(server, { port: 0, ...rest });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return socket as SocketServer & { readonly port: number };
}

const echo = '{"jsonrpc":"2.0","method":"echo","params":["hi"],"id":1}';
const echoed = '{"jsonrpc":"2.0","result":"hi","id":1}';
const methods = { echo: (value: unknown) => value };

describe("lines", () => {
  test("a line that is too long is answered with an error, and the connection ends", async () => {
    const { port } = await serve(methods, { limits: { maxMessageBytes: 100 } });
    const client = new RawSocket({ port });
    client.send(`${echo}\n${"x".repeat(200)}\n${echo}\n`);
    const [first, second, ...rest] = (await client.closed).trim().split("\n");
    expect(first).toBe(echoed);
    expect(JSON.parse(second ?? "")).toMatchObject({ error: { code: -32600 }, id: null });
    expect(rest).toEqual([]);
  });

  test("a line without end is not kept, and the connection ends", async () => {
    const { port } = await serve(methods, { limits: { maxMessageBytes: 1000 } });
    const client = new RawSocket({ port });
    client.send("x".repeat(5000));
    expect(JSON.parse(await client.closed)).toMatchObject({ error: { code: -32600 }, id: null });
  });

  test("the tenth message that is not JSON is the last", async () => {
    const { port } = await serve(methods);
    const client = new RawSocket({ port });
    client.send(`${"garbage\n".repeat(9)}${echo}\ngarbage\n${echo}\n`);
    const lines = (await client.closed).trim().split("\n");
    expect(lines).toHaveLength(11);
    expect(lines[9]).toBe(echoed);
    expect(JSON.parse(lines[10] ?? "")).toMatchObject({ error: { code: -32700 } });
  });

  test("the request of a browser is not read on: its body may hold calls", async () => {
    let calls = 0;
    const { port } = await serve({ echo: () => ++calls });
    const client = new RawSocket({ port });
    client.send(`POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60\r\n\r\n${echo}\n`);
    const lines = (await client.closed).trim().split("\n");
    expect(lines).toHaveLength(1);
    expect(calls).toBe(0);
  });

  test("a peer that sends half a message and waits is disconnected", async () => {
    const { port } = await serve(methods, { arrivalTimeoutMs: 50 });
    const slow = new RawSocket({ port }).send(echo.slice(0, 20));
    const idle = new RawSocket({ port }).send(`${echo}\n`);
    expect(await slow.closed).toBe("");
    expect(await idle.lines(1)).toEqual([echoed]);
    expect(idle.socket.destroyed).toBe(false);
  });
});

describe("Content-Length", () => {
  const framed = (header: string): string => `${header}\r\n\r\n${echo}`;
  const length = echo.length;

  test.each([
    ["in lower case", `content-length: ${length}`],
    [
      "with another field before it",
      `Content-Type: application/vscode-jsonrpc\r\nContent-Length: ${length}`,
    ],
  ])("a length %s is read", async (_, header) => {
    const { port } = await serve(methods, { framing: "content-length" });
    const client = new RawSocket({ port }).send(framed(header));
    await client.lines(2);
    client.socket.end();
    expect(await client.closed).toBe(`Content-Length: ${echoed.length}\r\n\r\n${echoed}`);
  });

  test("lines that end with LF alone are read", async () => {
    const { port } = await serve(methods, { framing: "content-length" });
    const client = new RawSocket({ port }).send(`Content-Length: ${length}\n\n${echo}`);
    await client.lines(2);
    client.socket.end();
    expect(await client.closed).toContain(echoed);
  });

  test.each([
    ["below zero", "Content-Length: -5", -32700],
    ["with letters", "Content-Length: 5abc", -32700],
    ["given twice", `Content-Length: ${length}\r\nContent-Length: ${length}`, -32700],
    ["missing", "Content-Type: application/json", -32700],
    ["that no memory holds", "Content-Length: 99999999999", -32600],
    ["above the limit", "Content-Length: 2000000", -32600],
  ])("a length %s is answered with an error, and the connection ends", async (_, header, code) => {
    const { port } = await serve(methods, { framing: "content-length" });
    const client = new RawSocket({ port }).send(
      framed(header) + framed(`Content-Length: ${length}`),
    );
    const [, body = ""] = (await client.closed).split("\r\n\r\n");
    expect(JSON.parse(body)).toMatchObject({ error: { code }, id: null });
  });
});

test("an invalid length prefix ends the connection after an error", async () => {
  const { port } = await serve(methods, { framing: "length-prefix" });
  const client = new RawSocket({ port }).send("GET / HTTP/1.1\r\n\r\n");
  expect(JSON.parse((await client.closed).slice(4))).toMatchObject({ error: { code: -32600 } });
});

describe("a peer that does not read", () => {
  const chunk = "x".repeat(100_000);
  /** More than the system and this library buffer together. */
  const held = Math.ceil((socketBytes + 8 * 1024 * 1024) / chunk.length);

  test("gets no more replies made until it reads", async () => {
    let calls = 0;
    const big = () => {
      calls++;
      return chunk;
    };
    const { port } = await serve({ big, ...methods });
    const client = new RawSocket({ port });
    client.socket.pause();
    const most = 2 * held;
    for (let id = 1; id <= most; id++) client.send(`{"jsonrpc":"2.0","method":"big","id":${id}}\n`);
    await standstill(() => calls, aMoment);
    // A mebibyte waits here, and the system buffers the rest.
    expect(calls).toBeLessThan(held);
    const other = new RawSocket({ port }).send(`${echo}\n`);
    expect(await other.lines(1)).toEqual([echoed]);
    client.socket.resume();
    expect(await client.lines(most)).toHaveLength(most);
    expect(calls).toBe(most);
  });

  test("is disconnected after a while", async () => {
    const { port, connections } = await serve({ big: () => chunk }, { writeTimeoutMs: 100 });
    const client = new RawSocket({ port });
    client.socket.pause();
    client.send('{"jsonrpc":"2.0","method":"big","id":1}\n'.repeat(2 * held));
    while (connections.size === 0) await turn();
    const [connection] = connections;
    expect(await connection?.closed).toMatchObject({ message: "the peer does not read" });
  });

  test("is disconnected if it does not read unsolicited messages", async () => {
    const { port, connections } = await serve(methods);
    const client = new RawSocket({ port });
    client.socket.pause();
    while (connections.size === 0) await turn();
    const [connection] = connections;
    let pushed = 0;
    while (connection?.notify("pushed", [chunk])) {
      pushed++;
      await turn();
    }
    expect(pushed).toBeLessThan(held);
  });
});

test("a peer that resets the connection in mid-call ends the call and nothing else", async () => {
  let abort: (reason: unknown) => void = () => {};
  const aborted = new Promise((resolve) => {
    abort = resolve;
  });
  const { port } = await serve({
    hang: method({}, (_, call) => {
      call.signal.addEventListener("abort", () => abort(call.signal.reason));
      call.notify("started");
      return new Promise(() => {});
    }),
    ...methods,
  });
  const client = new RawSocket({ port }).send('{"jsonrpc":"2.0","method":"hang","id":1}\n');
  await client.lines(1);
  client.socket.resetAndDestroy();
  expect(await aborted).toMatchObject({ code: -32800 });
  await using link = await connectSocket({ port });
  expect(await link.call("echo", ["fine"])).toBe("fine");
});

test("connections above the limit get a reply that the server is busy, and are closed", async () => {
  const { port, connections } = await serve(methods, { maxConnections: 2 });
  const [first, second] = [new RawSocket({ port }), new RawSocket({ port })];
  for (const client of [first, second]) await client.send(`${echo}\n`).lines(1);
  expect(JSON.parse(await new RawSocket({ port }).send(`${echo}\n`).closed)).toMatchObject({
    error: { code: -32005 },
    id: null,
  });
  first.socket.destroy();
  while (connections.size === 2) await turn();
  expect(await new RawSocket({ port }).send(`${echo}\n`).lines(1)).toEqual([echoed]);
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

test("a listener of connections that throws costs none of them", async () => {
  const logged: unknown[] = [];
  const { port } = await serve(methods, {
    log: { ...silentLog, error: (fields) => logged.push(fields) },
    onConnection: () => {
      throw new Error("not now");
    },
  });
  const client = new RawSocket({ port });
  client.send(`${echo}\n`);
  expect(await client.lines(1)).toEqual([echoed]);
  expect(logged).toMatchObject([{ err: { message: "not now" } }]);
});
