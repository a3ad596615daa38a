/** Replies that are compressed for clients that accept it. */
import { gunzipSync } from "node:zlib";
import { createClient, createServer, type Methods, method, silentLog } from "callwire";
import { fetchHandler, type HttpOptions, httpLink } from "callwire/http";
import { authenticate } from "callwire/security";
import { createSigningKey, httpSigner, signedRequests } from "callwire/security/signing";
import { describe, expect, test } from "vitest";
import { add, json, post, RawClient, serve, sum } from "./wire.ts";

const methods = {
  add: (a: number, b: number) => a + b,
  text: (length: number) => "ä".repeat(length),
  later: async (length: number) => "ä".repeat(length),
  secret: method({ compress: false }, (params) => "s".repeat((params as [number])[0])),
};

const call = (name: string, length: number) =>
  `{"jsonrpc":"2.0","method":"${name}","params":[${length}],"id":1}`;
/** How many characters a reply has besides its result. */
const frame = '{"jsonrpc":"2.0","result":"","id":1}'.length;

type Ask = (body: string, accept?: string, more?: Record<string, string>) => Promise<Response>;

async function onNode(served: Methods, options: HttpOptions = {}): Promise<Ask> {
  const { port } = await serve(served, options);
  return (body, accept = "gzip", more = {}) => {
    const headers = { ...json, "accept-encoding": accept, ...more };
    return fetch(`http://127.0.0.1:${port}/rpc`, { method: "POST", headers, body });
  };
}

async function onFetch(served: Methods, options: HttpOptions = {}): Promise<Ask> {
  const handler = fetchHandler(createServer(served, { log: silentLog }), options);
  return async (body, accept = "gzip", more = {}) => {
    const headers = { ...json, "accept-encoding": accept, ...more };
    const request = new Request("http://localhost/rpc", { method: "POST", headers, body });
    const response = await handler(request);
    if (response.headers.get("content-encoding") !== "gzip") return response;
    const inflated = gunzipSync(await response.arrayBuffer());
    return new Response(inflated, { status: response.status, headers: response.headers });
  };
}

const encodingOf = ({ headers }: Response): string | null => headers.get("content-encoding");

describe.each([
  ["Node", onNode],
  ["fetch", onFetch],
])("on %s", (_, open) => {
  test.each([1_024, 20_000, 300_000])("a reply of %i characters is compressed", async (length) => {
    const ask = await open(methods);
    for (const name of ["text", "later"]) {
      const response = await ask(call(name, length - frame));
      expect(encodingOf(response)).toBe("gzip");
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(await response.json()).toEqual({
        jsonrpc: "2.0",
        result: "ä".repeat(length - frame),
        id: 1,
      });
    }
  });

  test("a shorter reply is not, and does not vary", async () => {
    const response = await (await open(methods))(call("text", 1_023 - frame));
    expect([encodingOf(response), response.headers.get("vary")]).toEqual([null, null]);
    expect(await response.json()).toMatchObject({ result: "ä".repeat(1_023 - frame) });
  });

  test.each([
    ["gzip", "gzip"],
    ["GZip ; q=0.5", "gzip"],
    ["deflate, gzip;q=1.0", "gzip"],
    ["*", expect.any(String)],
    ["*;q=0.1, identity;q=0", expect.any(String)],
    ["gzip, identity", "gzip"],
    ["identity", null],
    ["identity, gzip;q=0.9", null],
    ["gzip;q=0", null],
    ["gzip;q=0, *;q=0", null],
    ["gzip;q=-1", null],
    ["gzip;q=many", null],
    ["deflate", null],
    ["gzipped", null],
    ["__proto__, constructor", null],
    [",;,=", null],
  ])('a client that accepts "%s" gets %s', async (accept, expected) => {
    const response = await (await open(methods))(call("text", 5_000), accept);
    expect(encodingOf(response)).toEqual(expected);
    expect(response.headers.get("vary")).toBe("accept-encoding");
  });

  test("a page of another origin gets a reply that varies by both", async () => {
    const origin = "https://app.example";
    const response = await (await open(methods, { origins: [origin] }))(
      call("text", 5_000),
      "gzip",
      { origin },
    );
    expect(encodingOf(response)).toBe("gzip");
    expect(response.headers.get("vary")).toBe("origin, accept-encoding");
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
  });

  test("a method opts out, and so does each batch with it", async () => {
    const ask = await open(methods);
    const batch = `[${call("text", 5_000)},${call("secret", 5_000)}]`;
    for (const body of [call("secret", 5_000), batch]) {
      const response = await ask(body);
      expect([encodingOf(response), response.headers.get("vary")]).toEqual([null, null]);
      expect(await response.text()).toContain("sssss");
    }
    expect(encodingOf(await ask(call("text", 5_000)))).toBe("gzip");
  });

  test("an option turns it off", async () => {
    const response = await (await open(methods, { compress: false }))(call("text", 5_000));
    expect([encodingOf(response), response.headers.get("vary")]).toEqual([null, null]);
  });
});

test("Node prefers codings that are faster or smaller than gzip", async () => {
  const ask = await onNode(methods);
  const response = await ask(call("text", 5_000), "gzip, deflate, br");
  expect(encodingOf(response)).toBe("br");
  expect(await response.json()).toMatchObject({ result: "ä".repeat(5_000) });
  expect(encodingOf(await ask(call("text", 5_000), "gzip, br;q=0.5"))).toBe("gzip");
});

test("short and long replies of a connection come in order", async () => {
  const { port } = await serve(methods);
  const client = new RawClient(port);
  const accept = "Accept-Encoding: gzip\r\n";
  for (const body of [add, call("text", 100_000), add, call("text", 2_000), add]) {
    client.write(post(body, accept));
  }
  const heard = await client.until((text) => text.split(sum).length === 4);
  const encodings = heard.match(/^content-encoding: gzip|"result":5/gim);
  expect(encodings).toEqual([
    '"result":5',
    "content-encoding: gzip",
    '"result":5',
    "content-encoding: gzip",
    '"result":5',
  ]);
});

test("a signed reply is not compressed, since its signature covers the text", async () => {
  const client = createSigningKey("ed25519", "client-1");
  const server = createSigningKey("ed25519", "server-1");
  const credential = signedRequests({ keys: [client.verifier], replyKey: server.signer });
  const { port } = await serve(methods, {}, { use: [authenticate(credential)] });
  const signer = httpSigner({ key: client.signer, replyKeys: [server.verifier] });
  const encodings: (string | null)[] = [];
  const link = httpLink(`http://127.0.0.1:${port}/rpc`, {
    signer,
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      encodings.push(encodingOf(response));
      return response;
    },
  });
  expect(await createClient<typeof methods>(link).api.text(5_000)).toHaveLength(5_000);
  expect(encodings).toEqual([null]);
});

test("a link on fetch reads compressed replies, and stops at its limit while they are inflated", async () => {
  const { port } = await serve(methods);
  const url = `http://127.0.0.1:${port}/rpc`;
  const encodings: (string | null)[] = [];
  const observed = async (to: string, init: RequestInit) => {
    const response = await fetch(to, init);
    encodings.push(encodingOf(response));
    return response;
  };
  const { api } = createClient<typeof methods>(httpLink(url, { fetch: observed }));
  expect(await api.text(200_000)).toHaveLength(200_000);
  const strict = httpLink(url, { fetch: observed, maxReplyBytes: 100_000 });
  await expect(createClient<typeof methods>(strict).api.text(200_000)).rejects.toMatchObject({
    code: "BAD_REPLY",
  });
  expect(encodings).not.toContain(null);
});
