import { readFileSync } from "node:fs";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient, createServer, fallback, silentLog } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { sseLink } from "callwire/sse";
import { expect, onTestFinished, test } from "vitest";
import { spoiledLine } from "../spoiled-line.ts";

const fixture = (name: string): string =>
  readFileSync(new URL(`../../fixtures/tls/${name}`, import.meta.url), "utf8");
const cert = fixture("test-only-cert.pem");
const key = fixture("test-only-key.pem");

test("a call whose reply is corrupted within TLS is lost at once, and not sent over another link", async () => {
  let ran = 0;
  const server = createServer(
    {
      charge: () => {
        ran++;
        line.spoil();
      },
    },
    { log: silentLog },
  );
  onTestFinished(() => server.close());
  const { port } = await serveHttp(server, { port: 0, tls: { cert, key } });
  const line = await spoiledLine(port);
  const over = (to: number) => httpLink(`https://localhost:${to}/rpc`, { tls: { ca: cert } });
  await using client = createClient(fallback([over(line.port), over(port)]), {
    timeoutMs: Number.POSITIVE_INFINITY,
  });
  await expect(client.call("charge")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  expect(ran).toBe(1);
});

test.each([
  { code: "EHOSTUNREACH", syscall: "read" },
  { code: "ERR_SSL_DECRYPTION_FAILED_OR_BAD_RECORD_MAC" },
])("an error of fetch after it connected is not a reason to send again: %j", async (why) => {
  let sent = 0;
  const fetch = () => {
    sent++;
    return Promise.reject(
      new TypeError("fetch failed", { cause: Object.assign(new Error("x"), why) }),
    );
  };
  const link = () => httpLink("http://127.0.0.1:1/rpc", { fetch });
  await using client = createClient(fallback([link(), link()]));
  await expect(client.call("charge")).rejects.toMatchObject({ code: "CONNECTION_LOST" });
  expect(sent).toBe(1);
});

test("a connection that is reset while it is made has carried nothing, so that the call goes over another link", async () => {
  const server = createServer({ charge: () => "once" }, { log: silentLog });
  onTestFinished(() => server.close());
  const { url } = await serveHttp(server, { port: 0 });
  // As the kernel reports a server that stopped listening before it accepted the connection.
  const why = Object.assign(new Error("connect ECONNRESET"), {
    code: "ECONNRESET",
    syscall: "connect",
  });
  const reset = () => Promise.reject(new TypeError("fetch failed", { cause: why }));
  for (const link of [httpLink, sseLink]) {
    await using client = createClient(fallback([link(url, { fetch: reset }), link(url)]));
    expect(await client.call("charge")).toBe("once");
  }
});

test.each(["test-only", "test-only-client-planner"])(
  "a call to a server whose certificate %s nobody vouches for was not sent, and goes over another link",
  async (name) => {
    const tls = { cert: fixture(`${name}-cert.pem`), key: fixture(`${name}-key.pem`) };
    const server = createServer({ echo: (text: string) => text }, { log: silentLog });
    onTestFinished(() => server.close());
    const [strange, known] = [
      await serveHttp(server, { port: 0, tls }),
      await serveHttp(server, { port: 0 }),
    ];
    await using alone = createClient(sseLink(strange.url));
    await expect(alone.call("echo", ["a"])).rejects.toMatchObject({ code: "CONNECTION_FAILED" });
    const links = [strange, known].map(({ url }) => httpLink(url, { fetch }));
    await using client = createClient(fallback(links));
    expect(await client.call("echo", ["a"])).toBe("a");
  },
);

test("a stream of events that continues after the reply does not hold a connection forever", async () => {
  const responses: ServerResponse[] = [];
  const server = createHttpServer(async (request, response) => {
    responses.push(response);
    const { id } = JSON.parse(Buffer.concat(await request.toArray()).toString());
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: {"jsonrpc":"2.0","result":${responses.length},"id":${id}}\n\n`);
    response.write(`data: {"jsonrpc":"2.0","method":"$/stream","params":{"id":${id}}}\n\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  await using client = createClient(httpLink(`http://127.0.0.1:${port}/rpc`, { connections: 1 }));
  expect(await client.call("one")).toBe(1);
  expect(await client.call("two")).toBe(2);
});
