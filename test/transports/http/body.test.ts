import { connect } from "node:net";
import { type Context, method } from "callwire";
import type { HttpServer } from "callwire/http/node";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../contract/wire.ts";
import { socketBytes } from "../socket-bytes.ts";
import { aMoment, standstill } from "../standstill.ts";
import { add, json, post, RawClient, send, serve, sum } from "./wire.ts";

const methods = { add: (a: number, b: number) => a + b, length: (text: string) => text.length };

describe("size", () => {
  const limits = { maxMessageBytes: 1000 };
  const tooLarge = {
    error: {
      code: -32600,
      data: {
        limit: "maxMessageBytes",
        max: 1000,
        details: "a message must have at most 1000 bytes",
      },
    },
    id: null,
  };

  function call(bytes: number): string {
    const frame = '{"jsonrpc":"2.0","method":"length","params":[""],"id":1}';
    return frame.replace('""', `"${"x".repeat(bytes - frame.length)}"`);
  }

  test("a body of the limit is answered, and one more byte is 413", async () => {
    const { port } = await serve(methods, {}, { limits });
    expect((await send(port, { body: call(1000) })).status).toBe(200);
    const refused = await send(port, { body: call(1001) });
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject(tooLarge);
    expect(refused.headers.connection).toBe("close");
  });

  test("the length that a request announces is refused before the body is sent", async () => {
    const { port } = await serve(methods, {}, { limits });
    const client = new RawClient(port);
    client.write(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
    );
    expect(await client.until((text) => text.endsWith("}"))).toMatch(/^HTTP\/1\.1 413 /);
  });

  test('a client that waits for "100 Continue" is refused at once', async () => {
    const { port } = await serve(methods, {}, { limits });
    const client = new RawClient(port);
    client.write(post(call(2000), "Expect: 100-continue\r\n").split("\r\n\r\n")[0] as string);
    client.write("\r\n\r\n");
    const text = await client.until((heard) => heard.endsWith("}"));
    expect(text).toMatch(/^HTTP\/1\.1 413 /);
    expect(text).not.toContain("100 Continue");
  });

  test("a client that waits for leave to send its body gets it", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    const [head, body] = post(add, "Expect: 100-continue\r\n").split("\r\n\r\n");
    client.write(`${head}\r\n\r\n`);
    await client.until((text) => text === "HTTP/1.1 100 Continue\r\n\r\n");
    client.write(body as string);
    expect(await client.until((text) => text.endsWith("}"))).toContain(sum);
  });

  test("a chunked body is counted while it arrives; a client that continues is no longer read, and finally disconnected", async () => {
    const clock = new FakeClock();
    const { port, server } = await serve(methods, { clock }, { limits });
    let bytesRead = (): number => 0;
    server.once("connection", (socket) => {
      bytesRead = () => socket.bytesRead;
    });
    const client = new RawClient(port);
    // It looks for an answer when it can send no more.
    client.socket.pause();
    client.write(
      "POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n",
    );
    for (let i = 0; i < 16; i++) client.write(`100000\r\n${"x".repeat(2 ** 20)}\r\n`);
    expect(await standstill(bytesRead, aMoment)).toBeLessThan(2 ** 20);
    client.socket.resume();
    expect(await client.until((text) => text.endsWith("}"))).toMatch(/^HTTP\/1\.1 413 /);
    clock.advance(2_000);
    await client.all();
  });

  test("a client that sends all of a body that is too large still reads why it was refused", async () => {
    // It has two seconds to send the rest, in which it may get no CPU time on a busy machine.
    const clock = new FakeClock();
    const { port } = await serve(methods, { clock }, { limits: { maxMessageBytes: 100_000 } });
    for (let i = 0; i < 20; i++) {
      const answer = await fetch(`http://127.0.0.1:${port}/rpc`, {
        method: "POST",
        headers: json,
        body: "x".repeat(190_000),
      });
      expect(answer.status).toBe(413);
    }
  });

  test("a body in many chunks is put together", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    const bytes = Buffer.from(post(add.replace("[2,3]", '[2,3,"é世😀"]')));
    for (const byte of bytes) client.write(Uint8Array.of(byte));
    expect(await client.until((text) => text.endsWith("}"))).toContain(sum);
  });

  test("an empty body is a parse error", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, { body: "" });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32700 }, id: null });
  });
});

test.each([
  ["a byte that is no UTF-8", Buffer.from('{"jsonrpc":"2.0","method":"\xff","id":1}', "latin1")],
  ["a character that is cut off", Buffer.from(add.replace("add", "é")).subarray(0, -30)],
  ["an encoded surrogate", Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
  ["a byte order mark", Buffer.from(`\u{feff}${add}`)],
  ["UTF-16", Buffer.from(add, "utf16le")],
])("%s is a parse error, and the connection continues", async (_, body) => {
  const { port } = await serve(methods);
  const client = new RawClient(port);
  client.write(post("").replace("Content-Length: 0", `Content-Length: ${body.length}`));
  client.write(body);
  expect(await client.until((text) => text.endsWith("}"))).toMatch(/^HTTP\/1\.1 200 .*-32700/s);
  client.write(post(add));
  await client.until((text) => text.endsWith(sum));
});

describe("time", () => {
  /** Shortens the time in which a request must arrive, for later requests. */
  function hurry({ server }: HttpServer): void {
    server.headersTimeout = 50;
    server.requestTimeout = 50;
  }

  test("headers that do not end are 408", async () => {
    const { port } = await serve(methods, { requestTimeoutMs: 50, checkIntervalMs: 10 });
    const client = new RawClient(port);
    client.write("POST /rpc HTTP/1.1\r\nHost: localhost\r\n");
    const text = await client.all();
    expect(text).toMatch(/^HTTP\/1\.1 408 /);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({
      error: { code: -32003 },
      id: null,
    });
  });

  test("a body that does not end is 408, on a connection that was used before too", async () => {
    const http = await serve(methods, { checkIntervalMs: 10 });
    const client = new RawClient(http.port);
    client.write(post(add));
    const first = await client.until((text) => text.endsWith(sum));
    hurry(http);
    client.write(post(add).slice(0, -10));
    expect((await client.all()).slice(first.length)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a call that runs longer than a request may take to arrive is not cut", async () => {
    const gate = deferred<string>();
    const started = deferred();
    const wait = () => {
      started.resolve();
      return gate.promise;
    };
    const http = await serve({ wait }, { checkIntervalMs: 10 });
    const answer = send(http.port, { body: '{"jsonrpc":"2.0","method":"wait","id":1}' });
    await started.promise;
    hurry(http);
    // The limit for a later request has passed.
    const later = new RawClient(http.port);
    later.write(post(add).slice(0, -10));
    expect(await later.all()).toMatch(/^HTTP\/1\.1 408 /);
    gate.resolve("done");
    expect((await answer).text).toContain('"done"');
  });
});

describe("connections", () => {
  test("several requests on one connection are answered in order", async () => {
    const gates = [deferred(), deferred(), deferred()];
    const { port } = await serve({
      wait: async (n: number) => {
        await gates[n]?.promise;
        return n;
      },
    });
    const client = new RawClient(port);
    const call = (n: number) => post(`{"jsonrpc":"2.0","method":"wait","params":[${n}],"id":${n}}`);
    client.write(call(0) + call(1) + call(2));
    for (const gate of gates.toReversed()) gate.resolve();
    const text = await client.until((heard) => heard.includes('"id":2'));
    const ids = Array.from(text.matchAll(/"result":(\d)/g), ([, n]) => n);
    expect(ids).toEqual(["0", "1", "2"]);
  });

  test("a connection is used again after an error", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write(post("{"));
    await client.until((text) => text.includes("-32700"));
    client.write(post(add).replace("application/json", "text/plain"));
    await client.until((text) => text.includes(" 415 "));
    client.write(post(add).replace("localhost", "evil.example"));
    await client.until((text) => text.includes(" 403 "));
    client.write(post(add));
    await client.until((text) => text.endsWith(sum));
  });

  test("a broken request after a good one does not take the answer's place", async () => {
    const gate = deferred<string>();
    const { port } = await serve({ wait: () => gate.promise });
    const client = new RawClient(port);
    client.write(`${post('{"jsonrpc":"2.0","method":"wait","id":1}')}garbage\r\n\r\n`);
    expect(await client.all()).toBe("");
  });

  test("a client that leaves ends its call", async () => {
    const started = deferred<Context>();
    const { port } = await serve({
      wait: method({}, (_, call) => {
        started.resolve(call);
        return new Promise(() => {});
      }),
    });
    const client = new RawClient(port);
    client.write(post('{"jsonrpc":"2.0","method":"wait","id":1}'));
    const { signal } = await started.promise;
    expect(signal.aborted).toBe(false);
    const aborted = new Promise((resolve) => signal.addEventListener("abort", resolve));
    client.socket.destroy();
    await aborted;
    expect(signal.reason).toMatchObject({ code: -32800, message: "Connection lost" });
  });

  test("a client that leaves stops the rest of its batch", async () => {
    const started = deferred();
    let calls = 0;
    const { port, server } = await serve(
      {
        wait: method({}, (_, { signal }) => {
          calls++;
          started.resolve();
          return new Promise((_, reject) =>
            signal.addEventListener("abort", () => reject(signal.reason)),
          );
        }),
      },
      {},
      { limits: { maxBatchConcurrency: 2 } },
    );
    const client = new RawClient(port);
    const entry = '{"jsonrpc":"2.0","method":"wait","id":1}';
    client.write(post(`[${Array(10).fill(entry).join()}]`));
    await started.promise;
    client.socket.destroy();
    await expect
      .poll(() => new Promise((resolve) => server.getConnections((_, n) => resolve(n))))
      .toBe(0);
    expect(calls).toBe(2);
  });

  test("a client that leaves at any byte of its request does no harm", async () => {
    const { port } = await serve({ ...methods, later: async () => 1 });
    const bytes = Buffer.from(post('{"jsonrpc":"2.0","method":"later","id":1}'));
    for (let length = 0; length <= bytes.length; length++) {
      await new Promise<void>((resolve) => {
        const socket = connect(port, "127.0.0.1", () => {
          socket.write(bytes.subarray(0, length), () => socket.resetAndDestroy());
        });
        socket.on("error", () => {});
        socket.on("close", () => resolve());
      });
    }
    expect((await send(port, { body: add })).text).toBe(sum);
  });

  test("a client that does not read a large reply is disconnected", async () => {
    const length = socketBytes + 4 * 1024 * 1024;
    const { port, server } = await serve(
      { long: () => "x".repeat(length) },
      { writeTimeoutMs: 100 },
      { limits: { maxReplyLength: 2 * length } },
    );
    const client = connect(port, "127.0.0.1");
    client.on("error", () => {});
    client.pause();
    const gone = new Promise((resolve) =>
      server.once("connection", (socket) => socket.once("close", resolve)),
    );
    client.write(post('{"jsonrpc":"2.0","method":"long","id":1}'));
    await gone;
    client.destroy();
  });

  test("200 clients with the same ids each get their own answer", async () => {
    const gate = deferred();
    let waiting = 0;
    const { port } = await serve({
      secret: async (name: string) => {
        if (++waiting === 200) gate.resolve();
        await gate.promise;
        return `secret of ${name}`;
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        send(port, {
          body: `[{"jsonrpc":"2.0","method":"secret","params":["${i}"],"id":1}]`,
        }),
      ),
    );
    answers.forEach(({ text }, i) => {
      expect(text).toBe(`[{"jsonrpc":"2.0","result":"secret of ${i}","id":1}]`);
    });
  });
});

test("a handler reads the headers, the address and the time that the caller gives", async () => {
  const { port } = await serve({
    look: method({}, async (_, call) => ({
      kind: call.transport.kind,
      key: call.transport.headers["x-key"],
      address: call.transport.remoteAddress,
      timeoutMs: call.transport.timeoutMs ?? null,
      left: call.deadline === undefined ? null : call.deadline - Date.now(),
    })),
  });
  const body = '{"jsonrpc":"2.0","method":"look","id":1}';
  const look = async (headers: Record<string, string>) =>
    JSON.parse((await send(port, { headers: { ...json, ...headers }, body })).text).result;
  const first = await look({ "x-key": "k", "timeout-ms": "30000" });
  expect(first).toMatchObject({ kind: "http", key: "k", address: "127.0.0.1", timeoutMs: 30_000 });
  // Nearly all of it, however busy the machine is.
  expect(first.left).toBeGreaterThan(20_000);
  expect(first.left).toBeLessThanOrEqual(30_000);
  for (const value of ["-1", "x", "1e3", "", "9".repeat(20)]) {
    expect(await look({ "timeout-ms": value })).toMatchObject({ timeoutMs: null });
  }
});

test("the time that the caller gives ends the call", async () => {
  const { port } = await serve({ wait: () => new Promise(() => {}) });
  const body = '{"jsonrpc":"2.0","method":"wait","id":1}';
  const answer = await send(port, { headers: { ...json, "timeout-ms": "1" }, body });
  expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32003 }, id: 1 });
});
