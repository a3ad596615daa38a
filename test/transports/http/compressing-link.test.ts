/** Links that compress long requests and, in Node, ask for compressed replies. */
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip, gzipSync } from "node:zlib";
import { createClient, type Middleware, stream } from "callwire";
import { httpLink } from "callwire/http";
import { authenticate } from "callwire/security";
import { createSigningKey, httpSigner, signedRequests } from "callwire/security/signing";
import { describe, expect, onTestFinished, test } from "vitest";
import { httpLink as fetchLink } from "../../../src/transports/http/fetch-link.ts";
import { deferred } from "../contract/wire.ts";
import { serve } from "./wire.ts";

const methods = {
  length: (text: string) => text.length,
  text: (length: number) => "x".repeat(length),
  items: stream({}, async function* () {
    for (let i = 0; i < 100; i++) yield "item".repeat(100);
  }),
};

type Options = Parameters<typeof fetchLink>[1];

function clientOf(link: ReturnType<typeof httpLink>) {
  onTestFinished(() => link.close());
  return createClient<typeof methods>(link);
}

/** A server that records two headers of each request. */
async function serveNoting(...use: Middleware[]) {
  const seen: [encoding: unknown, accepted: unknown][] = [];
  const note: Middleware = (next) => (request, context) => {
    const { headers } = context.transport;
    seen.push([headers["content-encoding"], headers["accept-encoding"]]);
    return next(request, context);
  };
  const { port } = await serve(methods, {}, { use: [...use, note] });
  return { url: `http://127.0.0.1:${port}/rpc`, seen };
}

/** A server whose behaviour the test provides. */
async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/rpc`;
}

const gzipJson = { "content-type": "application/json", "content-encoding": "gzip" };

describe.each<[string, (url: string, options: Options) => ReturnType<typeof httpLink>]>([
  ["the link of Node", httpLink],
  ["the link of everywhere else", fetchLink],
])("%s", (name, linkTo) => {
  test("compresses long requests and no others", async () => {
    const { url, seen } = await serveNoting();
    const { api } = clientOf(linkTo(url, { compress: true }));
    for (const length of [3, 2_000, 500_000]) {
      expect(await api.length("ä".repeat(length))).toBe(length);
    }
    expect(seen.map(([encoding]) => encoding)).toEqual([undefined, "gzip", "gzip"]);
    for (const [, accepted] of seen) expect(accepted).toContain("gzip");
  });

  test("does not by default", async () => {
    const { url, seen } = await serveNoting();
    const { api } = clientOf(linkTo(url, {}));
    expect(await api.length("x".repeat(2_000))).toBe(2_000);
    expect(seen[0]?.[0]).toBeUndefined();
    if (name === "the link of Node") expect(seen[0]?.[1]).toBeUndefined();
  });

  test("reads compressed replies, plain ones and events", async () => {
    const { url } = await serveNoting();
    const { api } = clientOf(linkTo(url, { compress: true }));
    for (const length of [3, 2_000, 500_000]) {
      expect(await api.text(length)).toBe("x".repeat(length));
    }
    let count = 0;
    for await (const item of api.items()) count += item.length;
    expect(count).toBe(40_000);
  });

  test("signs what it sends, and gets signed replies", async () => {
    const client = createSigningKey("ed25519", "client-1");
    const server = createSigningKey("ed25519", "server-1");
    const credential = signedRequests({ keys: [client.verifier], replyKey: server.signer });
    const { url, seen } = await serveNoting(authenticate(credential));
    const signer = httpSigner({ key: client.signer, replyKeys: [server.verifier] });
    const { api } = clientOf(linkTo(url, { compress: true, signer }));
    expect(await api.length("x".repeat(5_000))).toBe(5_000);
    expect(await api.text(5_000)).toHaveLength(5_000);
    expect(seen[0]?.[0]).toBe("gzip");
  });

  test("stops inflating a reply at its limit", async () => {
    const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, " "));
    const url = await listen((_, response) => {
      // It never ends, so that only the limit can end the call.
      response.writeHead(200, gzipJson).write(bomb.subarray(0, -20));
    });
    const { api } = clientOf(linkTo(url, { compress: true, maxReplyBytes: 100_000 }));
    await expect(api.text(1)).rejects.toMatchObject({ code: "BAD_REPLY" });
  });

  test.each([
    ["is not compressed", Buffer.from('{"jsonrpc":"2.0","result":5,"id":1}')],
    ["is cut short", gzipSync('{"jsonrpc":"2.0","result":5,"id":1}').subarray(0, -12)],
  ])("fails if a reply %s", async (_, body) => {
    const url = await listen((__, response) => void response.writeHead(200, gzipJson).end(body));
    const { api } = clientOf(linkTo(url, { compress: true }));
    await expect(api.text(1)).rejects.toMatchObject({ name: "WireError" });
  });

  test("reads events that a proxy compresses, as they arrive", async () => {
    const seen = deferred();
    const url = await listen((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        const { id } = JSON.parse(body) as { id: number };
        response.writeHead(200, {
          "content-type": "text/event-stream",
          "content-encoding": "gzip",
        });
        const gzip = createGzip();
        gzip.pipe(response);
        const event = (message: object) =>
          gzip.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
        event({ method: "$/progress", params: { id, value: "half" } });
        gzip.flush();
        // The reply is sent when the client has seen the progress.
        void seen.promise.then(() => {
          event({ result: "done", id });
          gzip.end();
        });
      });
    });
    const client = clientOf(linkTo(url, { compress: true }));
    const onProgress = (): void => seen.resolve();
    expect(await client.call("text", [1], { onProgress })).toBe("done");
  });
});

test("the link of Node names an encoding that it did not ask for", async () => {
  const headers = { ...gzipJson, "content-encoding": "compress" };
  const url = await listen((_, response) => void response.writeHead(200, headers).end("x"));
  const { api } = clientOf(httpLink(url, { compress: true }));
  await expect(api.text(1)).rejects.toThrow('the encoding "compress"');
});

test("the link of Node does not wait for the end of what follows the compressed data", async () => {
  const closed = deferred();
  const reply = gzipSync('{"jsonrpc":"2.0","result":5,"id":1}');
  const url = await listen((_, response) => {
    response.on("close", () => closed.resolve());
    response.writeHead(200, gzipJson).write(Buffer.concat([reply, Buffer.alloc(300_000, "x")]));
  });
  const { api } = clientOf(httpLink(url, { compress: true }));
  await expect(api.text(1)).rejects.toMatchObject({ code: "BAD_REPLY" });
  await closed.promise;
});

test("the link of Node stops inflating when the caller leaves", async () => {
  const closed = deferred();
  const begun = deferred();
  const url = await listen((_, response) => {
    response.on("close", () => closed.resolve());
    response.writeHead(200, gzipJson).write(gzipSync("{").subarray(0, 12), () => begun.resolve());
  });
  const leaving = new AbortController();
  const client = clientOf(httpLink(url, { compress: true }));
  const call = client.call("text", [1], { signal: leaving.signal });
  await begun.promise;
  leaving.abort();
  await expect(call).rejects.toThrow();
  await closed.promise;
});
