import { createClient, createServer, type Middleware, method, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { webSocketLink } from "callwire/ws";
import { expect, test } from "vitest";
import { z } from "zod";

const text = z.object({ text: z.string() });
const methods = {
  long: method({ params: text, limits: { maxMessageBytes: 5000 } }, ({ text }) => text.length),
  short: method({ params: text, limits: { maxMessageBytes: 200 } }, ({ text }) => text.length),
  usual: method({ params: text }, ({ text }) => text.length),
};
const options = { limits: { maxMessageBytes: 1000 }, log: silentLog };

const refused = (max: number) => ({ code: -32600, data: { limit: "maxMessageBytes", max } });

test.each([httpLink, webSocketLink])(
  "a method has its own limit of messages (%o)",
  async (link) => {
    await using server = createServer(methods, options);
    const { port } = await serveHttp(server, { port: 0 });
    const scheme = link === httpLink ? "http" : "ws";
    await using client = createClient<typeof methods>(link(`${scheme}://127.0.0.1:${port}/rpc`));
    const { api } = client;
    expect(await api.long({ text: "x".repeat(4000) })).toBe(4000);
    expect(await api.usual({ text: "x".repeat(900) })).toBe(900);
    expect(await api.short({ text: "x".repeat(100) })).toBe(100);
    await expect(api.usual({ text: "x".repeat(1000) })).rejects.toMatchObject(refused(1000));
    await expect(api.short({ text: "x".repeat(300) })).rejects.toMatchObject(refused(200));
    await expect(api.long({ text: "x".repeat(6000) })).rejects.toBeInstanceOf(Error);
  },
);

test("a call over the limit of its method gets 413, before middleware runs", async () => {
  const ran: string[] = [];
  const noting: Middleware = (next) => (request, context) => {
    ran.push(request.method);
    return next(request, context);
  };
  await using server = createServer(methods, { ...options, use: [noting] });
  const { port } = await serveHttp(server, { port: 0 });
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 7,
    method: "usual",
    params: { text: "x".repeat(2000) },
  });
  const headers = { "content-type": "application/json" };
  const url = `http://127.0.0.1:${port}/rpc`;
  const response = await fetch(url, { method: "POST", headers, body });
  expect(response.status).toBe(413);
  expect(await response.json()).toMatchObject({ id: 7, error: refused(1000) });
  expect(ran).toEqual([]);
});

test("a batch has the limit of the server", async () => {
  const server = createServer(methods, options);
  const call = { jsonrpc: "2.0", method: "long", params: { text: "x".repeat(600) } };
  const batch = JSON.stringify([
    { ...call, id: 1 },
    { ...call, id: 2 },
  ]);
  expect(JSON.parse((await server.receive(batch)) as string)).toMatchObject({
    id: null,
    error: refused(1000),
  });
  const padded = (length: number) => `[${JSON.stringify({ ...call, id: 1 })}]`.padEnd(length);
  expect(await server.receive(padded(1000))).toContain('"result":600');
  expect(await server.receive(padded(1001))).toContain('"code":-32600');
  const one = JSON.stringify([{ ...call, id: 1 }]);
  expect(JSON.parse((await server.receive(one)) as string)).toMatchObject([{ id: 1, result: 600 }]);
});

test.each([0, Number.NaN, "1"])("a limit of %o is refused when the server is made", (max) => {
  const wrong = { a: method({ limits: { maxMessageBytes: max as number } }, () => 1) };
  expect(() => createServer(wrong)).toThrow("limits.maxMessageBytes of a must be a number");
});
