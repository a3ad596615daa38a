import { RpcError, silentLog } from "callwire";
import { describe, expect, test } from "vitest";
import { add, json, RawClient, send, serve, sum } from "./wire.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  refuse(status: number, headers?: Record<string, string>) {
    throw new RpcError(-32001, "Refused", undefined, headers ? { status, headers } : { status });
  },
  async refuse_later(status: number) {
    throw new RpcError(-32001, "Refused", undefined, { status });
  },
};

function call(method: string, params: unknown[]): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id: 1 });
}

const refusal = {
  jsonrpc: "2.0",
  error: { code: -32600, message: "Invalid Request", data: expect.any(String) },
  id: null,
};

describe("replies", () => {
  test("a result has the status 200 and its length", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, { body: add });
    expect(answer).toMatchObject({ status: 200, text: sum });
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.headers["content-length"]).toBe(String(sum.length));
    expect(answer.headers["transfer-encoding"]).toBeUndefined();
  });

  test("an error has the status 200", async () => {
    const { port } = await serve(methods);
    for (const body of [call("none", []), "{", "[]", "[1]", "1", ""]) {
      const { status, text } = await send(port, { body });
      expect(status).toBe(200);
      expect(text).toContain('"error"');
    }
  });

  test("an error that asks for a status gets it, with its headers", async () => {
    const { port } = await serve(methods);
    for (const status of [401, 403, 429, 503]) {
      const answer = await send(port, {
        body: call("refuse", [status, { "retry-after": "7", "www-authenticate": "Bearer" }]),
      });
      expect(answer.status).toBe(status);
      expect(answer.headers["retry-after"]).toBe("7");
      expect(answer.headers["www-authenticate"]).toBe("Bearer");
      expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32001 }, id: 1 });
      expect((await send(port, { body: call("refuse_later", [status]) })).status).toBe(status);
    }
  });

  test("an invalid status, or headers that cannot be sent, do not stop the error", async () => {
    const { port } = await serve(methods);
    for (const status of [200, 99, 1000, 4.5]) {
      expect((await send(port, { body: call("refuse", [status]) })).status).toBe(200);
    }
    const answer = await send(port, { body: call("refuse", [401, { "x-bad": "a\r\nb: c" }]) });
    expect(answer).toMatchObject({ status: 401 });
    expect(answer.headers["b"]).toBeUndefined();
  });

  test("the error of one call in a batch gives the batch no status", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, { body: `[${add},${call("refuse", [401])}]` });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toHaveLength(2);
  });

  test.each([
    ["at once", "refuse"],
    ["later", "refuse_later"],
  ])("a batch that is refused as a whole %s has the status of its calls", async (_, name) => {
    const { port } = await serve(methods);
    const batch = (...entries: string[]) => send(port, { body: `[${entries.join(",")}]` });
    const refuse = (status: number) => call(name, [status, { "retry-after": "7" }]);
    const silent = JSON.stringify({ jsonrpc: "2.0", method: name, params: [429] });
    for (const entries of [[refuse(429)], [refuse(429), refuse(429)], [silent, refuse(429)]]) {
      const answer = await batch(...entries);
      expect(answer.status).toBe(429);
      if (name === "refuse") expect(answer.headers["retry-after"]).toBe("7");
    }
    const ran = '{"jsonrpc":"2.0","method":"add","params":[1,2]}';
    for (const other of [add, ran, refuse(403), call("none", []), "1"]) {
      expect((await batch(refuse(429), other)).status, other).toBe(200);
      expect((await batch(other, refuse(429))).status, other).toBe(200);
    }
    expect((await batch(silent, silent)).status).toBe(204);
  });

  test("a server that is full answers 503 with Retry-After", async () => {
    const { port } = await serve(
      { wait: () => new Promise(() => {}), add: methods.add },
      { drainMs: 0 },
      { maxRunning: 1 },
    );
    const waiting = send(port, { body: call("wait", []) }).catch(() => {});
    await expect
      .poll(async () => (await send(port, { body: add })).status, { interval: 1 })
      .toBe(503);
    const answer = await send(port, { body: add });
    expect(answer.headers["retry-after"]).toBe("1");
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32005 }, id: 1 });
    void waiting;
  });

  test("a server whose calls hold too much memory answers 503 without running the call", async () => {
    let ran = 0;
    const { port } = await serve(
      { wait: () => new Promise(() => {}), count: () => ++ran },
      { drainMs: 0 },
      { maxRunningBytes: 1 },
    );
    const count = call("count", []);
    const waiting = send(port, { body: call("wait", []) }).catch(() => {});
    await expect
      .poll(async () => (await send(port, { body: count })).status, { interval: 1 })
      .toBe(503);
    const before = ran;
    const answer = await send(port, { body: count });
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32005 }, id: 1 });
    expect(ran).toBe(before);
    void waiting;
  });
});

describe("no reply", () => {
  const notification = '{"jsonrpc":"2.0","method":"add","params":[1,2]}';

  test("a notification, and a batch of them, have the status 204 and no body", async () => {
    const { port } = await serve(methods);
    for (const body of [notification, `[${notification},${notification}]`]) {
      const answer = await send(port, { body });
      expect(answer).toMatchObject({ status: 204, text: "" });
      expect(answer.headers["content-length"]).toBeUndefined();
      expect(answer.headers["content-type"]).toBeUndefined();
    }
  });

  test.each([200, 202, 204] as const)("the status can be %i", async (noReplyStatus) => {
    const { port } = await serve(methods, { noReplyStatus });
    expect(await send(port, { body: notification })).toMatchObject({
      status: noReplyStatus,
      text: "",
    });
  });
});

describe("refusals", () => {
  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE"])("%s is 405 with Allow", async (method) => {
    const { port } = await serve(methods);
    const answer = await send(port, { method, headers: {} });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe("POST, OPTIONS");
    if (method !== "HEAD") expect(JSON.parse(answer.text)).toEqual(refusal);
  });

  test("OPTIONS lists what is allowed", async () => {
    const { port } = await serve(methods);
    const answer = await send(port, { method: "OPTIONS", headers: {} });
    expect(answer).toMatchObject({ status: 204, text: "" });
    expect(answer.headers.allow).toBe("POST, OPTIONS");
  });

  test("another path is 404", async () => {
    const { port } = await serve(methods);
    for (const path of ["/", "/rpc/", "/rpcx", "/RPC", "/rpc/other", "/?/rpc"]) {
      const answer = await send(port, { path, body: add });
      expect(answer.status).toBe(404);
      const data = { ran: false, reason: "not-found", details: expect.any(String) };
      expect(JSON.parse(answer.text)).toEqual({ ...refusal, error: { ...refusal.error, data } });
    }
    expect((await send(port, { path: "/rpc?key=1", body: add })).text).toBe(sum);
  });

  test("a request to a proxy, with the whole URL, finds its path", async () => {
    const { port } = await serve(methods);
    const path = `http://127.0.0.1:${port}/rpc`;
    expect((await send(port, { path, body: add })).text).toBe(sum);
  });

  test("a body that is compressed in an unknown way is 415", async () => {
    const { port } = await serve(methods);
    const refused = await send(port, {
      headers: { ...json, "content-encoding": "compress" },
      body: add,
    });
    expect(refused.status).toBe(415);
    expect(JSON.parse(refused.text)).toEqual(refusal);
    const plain = await send(port, {
      headers: { ...json, "content-encoding": "identity" },
      body: add,
    });
    expect(plain.text).toBe(sum);
  });

  test("what is not HTTP is 400, with a JSON-RPC error as the body", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write("hello\r\n\r\n");
    const text = await client.all();
    expect(text).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toEqual(refusal);
  });

  test("a request without a Host is 400, and so is one with two", async () => {
    const { port } = await serve(methods);
    for (const hosts of ["", "Host: localhost\r\nhost: localhost\r\n"]) {
      const client = new RawClient(port);
      client.write(
        `POST /rpc HTTP/1.1\r\n${hosts}Content-Type: application/json\r\n` +
          `Connection: close\r\nContent-Length: ${add.length}\r\n\r\n${add}`,
      );
      expect(await client.all()).toMatch(/^HTTP\/1\.1 400 /);
    }
  });

  test("headers that are too long are 431", async () => {
    const { port } = await serve(methods);
    const client = new RawClient(port);
    client.write(`POST /rpc HTTP/1.1\r\nHost: localhost\r\nX: ${"x".repeat(20_000)}\r\n\r\n`);
    expect(await client.all()).toMatch(/^HTTP\/1\.1 431 [\s\S]*"code":-32600/);
  });

  test("an error of the client never reaches the handler of another path's errors", async () => {
    const errors: unknown[] = [];
    const log = { ...silentLog, error: (fields: object) => errors.push(fields) };
    const { port } = await serve(methods, {}, { log });
    const client = new RawClient(port);
    client.write("POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n");
    expect(await client.all()).toMatch(/^HTTP\/1\.1 400 /);
    expect(errors).toEqual([]);
  });
});
