/** Requests whose bodies are compressed. */
import { createHook } from "node:async_hooks";
import { createServer as createNodeServer } from "node:http";
import type { AddressInfo } from "node:net";
import zlib, {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  type Gunzip,
  gzipSync,
} from "node:zlib";
import { createServer, silentLog } from "callwire";
import { fetchHandler } from "callwire/http";
import { nodeHandler } from "callwire/http/node";
import { authenticate } from "callwire/security";
import { createSigningKey, httpSigner, signedRequests } from "callwire/security/signing";
import { describe, expect, onTestFinished, test } from "vitest";
import { add, json, post, RawClient, send, serve, sum } from "./wire.ts";

const methods = { add: (a: number, b: number) => a + b };
const tooLarge = { error: { code: -32600, data: { limit: "maxMessageBytes" } }, id: null };
const { zstdCompressSync } = zlib as { zstdCompressSync?: (text: string) => Buffer };

/** Bytes that inflate to a thousand times their length. */
const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, " "));

interface Sent {
  readonly encoding: string;
  readonly body: Uint8Array;
}

/** The two platforms, each as a function from a body to its response. */
const platforms = {
  node: async ({ encoding, body }: Sent) => {
    const { port } = await serve(methods);
    return send(port, { headers: { ...json, "content-encoding": encoding }, body });
  },
  fetch: async ({ encoding, body }: Sent) => {
    const handler = fetchHandler(createServer(methods, { log: silentLog }));
    const headers = { ...json, "content-encoding": encoding };
    const init = { method: "POST", headers, body: Buffer.from(body) };
    const response = await handler(new Request("http://localhost/rpc", init));
    const { status } = response;
    return { status, headers: Object.fromEntries(response.headers), text: await response.text() };
  },
};

describe.each(Object.entries(platforms))("on %s", (name, ask) => {
  test.each(["gzip", "x-gzip", "GZIP"])("a body with the encoding %s is inflated", async (each) => {
    expect((await ask({ encoding: each, body: gzipSync(add) })).text).toBe(sum);
  });

  test("a body that inflates to more than a message holds is 413", async () => {
    const refused = await ask({ encoding: "gzip", body: bomb });
    expect(refused.status).toBe(413);
    expect(JSON.parse(refused.text)).toMatchObject(tooLarge);
  });

  test("a body of parts that inflate to nothing is 413 if it is too long", async () => {
    const nothing = gzipSync("");
    const body = Buffer.concat(
      Array<Buffer>(Math.ceil(2 ** 20 / nothing.length) + 1).fill(nothing),
    );
    expect((await ask({ encoding: "gzip", body })).status).toBe(413);
  });

  test.each([
    ["is not compressed", Buffer.from(add)],
    ["is cut short", gzipSync(add).subarray(0, -9)],
    ["is empty", Buffer.alloc(0)],
  ])("a body that %s is refused", async (_, body) => {
    const refused = await ask({ encoding: "gzip", body });
    expect(JSON.parse(refused.text)).toMatchObject({ error: {}, id: null });
    expect([200, 400]).toContain(refused.status);
  });

  test("what is inflated must be UTF-8", async () => {
    const answer = await ask({ encoding: "gzip", body: gzipSync(Buffer.of(0x22, 0xff, 0x22)) });
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: -32700 }, id: null });
  });

  test.each(["deflate", "compress", "gzip, gzip", "", "__proto__"])(
    'the encoding "%s" is 415, and the response names those that are known',
    async (encoding) => {
      const refused = await ask({ encoding, body: deflateSync(add) });
      expect(refused.status).toBe(415);
      expect(refused.headers["accept-encoding"]).toContain("gzip");
      expect(refused.headers["accept-encoding"]).toContain("identity");
      expect(JSON.parse(refused.text)).toMatchObject({ error: { code: -32600 }, id: null });
    },
  );

  test("brotli is inflated, or 415 if the platform cannot", async () => {
    const answer = await ask({ encoding: "br", body: brotliCompressSync(add) });
    if (name === "node") expect(answer.text).toBe(sum);
    else expect(answer.status).toBe(415);
  });
});

test("zstd is inflated if this version of Node can", async () => {
  const body = zstdCompressSync?.(add) ?? Buffer.from(add);
  const answer = await platforms.node({ encoding: "zstd", body });
  if (zstdCompressSync === undefined) expect(answer.status).toBe(415);
  else expect(answer.text).toBe(sum);
});

test("bodies that do not arrive completely do not occupy inflaters, which take much memory", async () => {
  let inflaters = 0;
  const hook = createHook({
    init(_id, type) {
      if (type === "ZLIB") inflaters++;
    },
  });
  const { port } = await serve(methods);
  const head = post("", "Content-Encoding: br\r\n").replace(
    /Content-Length: \d+/,
    "Content-Length: 90",
  );
  hook.enable();
  onTestFinished(() => void hook.disable());
  const clients = Array.from({ length: 20 }, () => new RawClient(port));
  for (const client of clients) client.write(head);
  for (const client of clients) client.write(brotliCompressSync(add).subarray(0, 20));
  inflaters = 0;
  const answer = await send(port, {
    headers: { ...json, "content-encoding": "gzip" },
    body: gzipSync(add),
  });
  expect(answer.text).toBe(sum);
  // The compressor of this test runs before, and the server inflates one body.
  expect(inflaters).toBeLessThanOrEqual(2);
});

test("compressed and plain requests of a connection are answered in order", async () => {
  const { port } = await serve(methods);
  const client = new RawClient(port);
  const body = gzipSync(add);
  const head = post("", "Content-Encoding: gzip\r\n");
  const compressed = [head.replace(/Content-Length: \d+/, `Content-Length: ${body.length}`), body];
  for (const part of [post(add), ...compressed, post(add), ...compressed]) client.write(part);
  await client.until((text) => text.split(sum).length === 5);
});

test("what follows the compressed data in a body does not hold up the next request", async () => {
  const { port } = await serve(methods);
  const client = new RawClient(port);
  const body = Buffer.concat([gzipSync(add), Buffer.alloc(300_000)]);
  const head = post("", "Content-Encoding: gzip\r\n");
  client.write(head.replace(/Content-Length: \d+/, `Content-Length: ${body.length}`));
  client.write(body);
  client.write(post(add));
  await client.until((text) => text.split(sum).length === 3);
});

test("a body that a parser has inflated is not inflated again", async () => {
  const handler = nodeHandler(createServer(methods, { log: silentLog }));
  const server = createNodeServer((request, response) => {
    Object.assign(request, { _body: true, body: JSON.parse(add) });
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const headers = { ...json, "content-encoding": "gzip" };
  expect((await send(port, { path: "/", headers, body: gzipSync(add) })).text).toBe(sum);
});

describe("signed requests", () => {
  const { signer, verifier } = createSigningKey("ed25519", "client-1");

  async function sendSigned(signed: string | Uint8Array, body: Uint8Array) {
    const use = [authenticate(signedRequests({ keys: [verifier] }))];
    const { port } = await serve(methods, {}, { use });
    const headers = await httpSigner({ key: signer }).sign({
      method: "POST",
      url: `http://127.0.0.1:${port}/rpc`,
      headers: { ...json, "content-encoding": "gzip" },
      body: signed,
    });
    return send(port, { headers, body });
  }

  test("the digest covers the compressed body, as RFC 9530 says", async () => {
    const body = gzipSync(add);
    expect((await sendSigned(body, body)).text).toBe(sum);
  });

  test("a digest of other bytes is refused, even of those that the body inflates to", async () => {
    expect((await sendSigned(add, gzipSync(add))).status).toBe(401);
    expect((await sendSigned(gzipSync(add, { level: 0 }), gzipSync(add))).status).toBe(401);
  });
});

/** Gzip data of ten megabytes that inflates to ten gigabytes of zeros. */
function greatBomb(): Buffer {
  const flush = { finishFlush: constants.Z_FULL_FLUSH, level: 9 };
  // Each part can be inflated separately, so the same one may follow any number of times.
  const part = deflateRawSync(Buffer.alloc(2 ** 24), flush);
  const head = gzipSync("").subarray(0, 10);
  return Buffer.concat([head, ...Array<Buffer>(640).fill(part)]);
}

test("ten megabytes that inflate to ten gigabytes are 413, and are inflated no further than the limit", async () => {
  const body = greatBomb();
  expect(body.length).toBeGreaterThan(10_000_000);
  let inflated = 0;
  const inflater = Object.getPrototypeOf(zlib.createGunzip()) as Gunzip;
  const { push } = inflater;
  inflater.push = function (this: Gunzip, chunk: Buffer | null) {
    inflated += chunk?.length ?? 0;
    return push.call(this, chunk);
  };
  onTestFinished(() => void Reflect.deleteProperty(inflater, "push"));
  const maxMessageBytes = 11 * 2 ** 20;
  const { port } = await serve(methods, {}, { limits: { maxMessageBytes } });
  const headers = { ...json, "content-encoding": "gzip" };
  expect((await send(port, { headers, body })).status).toBe(413);
  expect(inflated).toBeGreaterThan(maxMessageBytes / 2);
  expect(inflated).toBeLessThan(maxMessageBytes + 2 ** 20);
});
