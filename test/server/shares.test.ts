/** Addresses share what a server can run, so that one of them cannot shut out the others. */
import { request } from "node:http";
import { createServer, type ServerOptions, silentLog } from "callwire";
import { serveHttp } from "callwire/http/node";
import { serveSocket } from "callwire/tcp";
import { expect, onTestFinished, test } from "vitest";
import { deferred } from "../transports/contract/wire.ts";
import { RawSocket } from "../transports/tcp/raw-socket.ts";

/** A server whose calls end with the test, and how many of them run. */
function holding(options: ServerOptions) {
  const held = deferred();
  onTestFinished(() => held.resolve());
  const state = { running: 0 };
  const hold = (_text?: string): Promise<void> => {
    state.running++;
    return held.promise;
  };
  const server = createServer(
    { hold, echo: (value: string) => value },
    { log: silentLog, overload: false, ...options },
  );
  return { server, state };
}

function call(method: string, id: number, ...params: string[]): string {
  return JSON.stringify({ jsonrpc: "2.0", method, params, id });
}

/** Sends calls from an address of this machine. Returns the first `count` replies. */
async function ask(port: number, localAddress: string, calls: string[], count: number) {
  const socket = new RawSocket({ port, localAddress }).send(`${calls.join("\n")}\n`);
  return (await socket.lines(count)).map((line) => JSON.parse(line));
}

test("an address gets two thirds of the calls that may run, and others get the rest", async () => {
  const { server, state } = holding({ maxRunning: 300 });
  await using tcp = await serveSocket(server, { port: 0, drainMs: 0 });
  const port = tcp.port as number;
  const calls = Array.from({ length: 300 }, (_, id) => call("hold", id));
  const refused = await ask(port, "127.0.0.1", calls, 99);
  expect(state.running).toBe(201);
  for (const reply of refused) expect(reply).toMatchObject({ error: { data: { reason: "busy" } } });
  expect(await ask(port, "127.0.0.2", [call("echo", 1, "hi")], 1)).toMatchObject([
    { result: "hi" },
  ]);
});

test("if few calls may run, one address may have all of them", async () => {
  const { server, state } = holding({ maxRunning: 50 });
  await using tcp = await serveSocket(server, { port: 0, drainMs: 0 });
  const calls = Array.from({ length: 51 }, (_, id) => call("hold", id));
  await ask(tcp.port as number, "127.0.0.1", calls, 1);
  expect(state.running).toBe(50);
});

test("an address cannot take all the memory for calls", async () => {
  const mebibyte = 1024 * 1024;
  const { server, state } = holding({ maxRunningBytes: 12 * mebibyte });
  await using http = await serveHttp(server, { port: 0, drainMs: 0 });
  const body = call("hold", 1, "x".repeat(900_000));
  const post = (localAddress: string, text: string): Promise<number> =>
    new Promise((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const where = { port: http.port, host: "127.0.0.1", path: "/rpc", localAddress };
      const sent = request({ ...where, method: "POST", headers, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      sent.on("error", reject);
      onTestFinished(() => void sent.destroy());
      sent.end(text);
    });
  const first: Promise<number>[] = [];
  // Each takes twice its length.
  for (let count = 1; count <= 5; count++) {
    const status = post("127.0.0.1", body);
    status.catch(() => {});
    first.push(status);
    while (state.running < count) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await post("127.0.0.1", body)).toBe(503);
  expect(await post("127.0.0.2", call("echo", 1, "x".repeat(900_000)))).toBe(200);
});
