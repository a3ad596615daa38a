import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createClient, createServer, type Methods, method, silentLog, stream } from "callwire";
import { fetchHandler, httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { z } from "zod";

const methods = {
  sum: method({ upload: z.number() }, async (_, call) => {
    let sum = 0;
    for await (const item of call.upload) sum += item;
    return sum;
  }),
  echo: stream({ upload: z.unknown() }, async function* (_, call) {
    for await (const item of call.upload) yield item;
  }),
  ready: () => "ready",
} satisfies Methods;

const service = () => createServer(methods, { log: silentLog });

const request = (name: string): string =>
  `{"jsonrpc":"2.0","method":"${name}","id":1,"upload":true}\n`;
const item = (value: unknown): string =>
  `{"jsonrpc":"2.0","method":"$/upload","params":{"id":1,"value":${JSON.stringify(value)}}}\n`;

const lines = { "content-type": "application/x-ndjson" };

async function served() {
  const server = service();
  const http = await serveHttp(server, { port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  return { port: http.port, url: `http://127.0.0.1:${http.port}/rpc` };
}

describe("an upload over HTTP", () => {
  test("is a body of lines, which any client can send", async () => {
    const { url } = await served();
    const body = request("sum") + item(1) + item(2) + item(39);
    const response = await fetch(url, { method: "POST", headers: lines, body });
    expect(await response.json()).toEqual({ jsonrpc: "2.0", result: 42, id: 1 });
  });

  test("works behind a fetch handler", async () => {
    const handle = fetchHandler(service());
    const link = httpLink("http://localhost/rpc", {
      fetch: (url, init) => handle(new Request(url, init as RequestInit)),
    });
    const { api } = createClient<typeof methods>(link);
    expect(await api.sum(undefined, { upload: [1, 2, 3] })).toBe(6);
    const heard: unknown[] = [];
    for await (const word of api.echo(undefined, { upload: ["a", "b"] })) heard.push(word);
    expect(heard).toEqual(["a", "b"]);
  });

  test.each([
    ["no line", "", 400],
    ["a line that is not JSON", "no\n", 200],
    ["an item that is not JSON", `${request("sum")}no\n`, 200],
    ["a line that is not an item", request("sum") + request("sum"), 200],
    ["a first line that is too long", `${"x".repeat(2_000_000)}\n`, 413],
    ["an item that is too long", `${request("sum")}${"x".repeat(2_000_000)}\n`, 200],
    ["an item that is not UTF-8", Buffer.from([...Buffer.from(request("sum")), 0xff, 0x0a]), 400],
  ])("with %s is refused, and nothing hangs", async (_, body, status) => {
    const { url } = await served();
    const response = await fetch(url, { method: "POST", headers: lines, body });
    expect(response.status).toBe(status);
    expect(await response.json()).toHaveProperty("error");
  });

  test("that is compressed is refused", async () => {
    const { url } = await served();
    const headers = { ...lines, "content-encoding": "gzip" };
    const response = await fetch(url, { method: "POST", headers, body: "x" });
    expect(response.status).toBe(415);
  });

  test("is answered while it arrives, and its connection closes", async () => {
    const { port } = await served();
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const part = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
    socket.write(
      `POST /rpc HTTP/1.1\r\nhost: localhost:${port}\r\ncontent-type: application/x-ndjson\r\n` +
        `transfer-encoding: chunked\r\n\r\n${part(request("sum"))}${part(item("not a number"))}`,
    );
    const answer = await textUntil(socket, "-32602");
    expect(answer).toMatch(/connection: close/i);
  });

  test("as JSON is refused with what to do instead", async () => {
    const { url } = await served();
    const headers = { "content-type": "application/json" };
    const response = await fetch(url, { method: "POST", headers, body: request("sum") });
    expect(await response.json()).toMatchObject({
      error: { code: -32007, data: expect.stringContaining("application/x-ndjson") },
    });
  });

  test("cannot be signed", async () => {
    const { url } = await served();
    const signer = { sign: async ({ headers }: { headers: Record<string, string> }) => headers };
    const { api } = createClient<typeof methods>(httpLink(url, { signer: signer as never }));
    await expect(api.sum(undefined, { upload: [1] })).rejects.toMatchObject({
      code: "UNSUPPORTED",
    });
  });

  test("needs another wire in browsers, and the error says which", async () => {
    Object.assign(globalThis, { document: {} });
    onTestFinished(() => void Reflect.deleteProperty(globalThis, "document"));
    const { httpLink: fetchLink } = await import("../../../src/transports/http/fetch-link.ts");
    const { api } = createClient<typeof methods>(fetchLink("http://127.0.0.1:1/rpc"));
    await expect(api.sum(undefined, { upload: [1] })).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining("webSocketLink"),
    });
  });
});

/** Reads from a socket up to a certain text. */
async function textUntil(socket: Socket, wanted: string): Promise<string> {
  let all = "";
  while (!all.includes(wanted)) all += (await once(socket, "data"))[0];
  return all;
}
