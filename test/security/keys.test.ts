import { createClient, createServer, RpcError } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate } from "callwire/security";
import { type ApiKeySource, apiKeys, createApiKey } from "callwire/security/keys";
import { expect, test } from "vitest";
import { whoami } from "./whoami.ts";

async function serve(source: ApiKeySource) {
  const { methods, ran } = whoami();
  const server = createServer(methods, { use: [authenticate(apiKeys(source))] });
  const http = await serveHttp(server, { port: 0 });
  const call = (headers: Record<string, string>) =>
    createClient<typeof methods>(httpLink(http.url, { headers })).call("whoami");
  return { ran, http, call, [Symbol.asyncDispose]: () => server.close() };
}

const bob = { id: "bob", roles: ["reader"] };

test("a key identifies the caller, in either header", async () => {
  const { key, record } = createApiKey({ principal: bob });
  await using served = await serve([record]);
  expect(await served.call({ "x-api-key": key })).toBe("bob");
  expect(await served.call({ authorization: `ApiKey ${key}` })).toBe("bob");
  expect(await served.call({ authorization: `apikey ${key}` })).toBe("bob");
});

test("a key without a principal is its own principal", async () => {
  const { key, record } = createApiKey({ id: "ci" });
  await using served = await serve(async (id) => (id === "ci" ? record : undefined));
  expect(await served.call({ "x-api-key": key })).toBe("ci");
});

test("the record does not contain the secret", () => {
  const { key, record } = createApiKey({ id: "ci" });
  const [, secret = ""] = key.split(".");
  expect(Buffer.from(secret, "base64url")).toHaveLength(32);
  expect(JSON.stringify(record)).not.toContain(secret);
  expect(createApiKey({ id: "ci" }).key).not.toBe(key);
});

test("a wrong secret, an unknown id and a broken key look the same", async () => {
  const { key, record } = createApiKey({ id: "ci" });
  await using served = await serve([record]);
  const other = createApiKey({ id: "ci" }).key;
  const unknown = createApiKey({ id: "cx" }).key;
  for (const wrong of [other, unknown, "ci", "ci.", `${key}x`, "", `${key}, ${key}`]) {
    const response = await fetch(served.http.url, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": wrong },
      body: '{"jsonrpc":"2.0","method":"whoami","id":1}',
    });
    expect(response.status, wrong).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('ApiKey realm="callwire"');
    expect(await response.text()).toBe(
      '{"jsonrpc":"2.0","error":{"code":-32001,"message":"Unauthenticated","data":{"reason":"api-key-invalid"}},"id":1}',
    );
  }
  expect(served.ran).toEqual([]);
});

test("without a key another credential is tried", async () => {
  const { record } = createApiKey();
  await using served = await serve([record]);
  for (const headers of [{}, { authorization: "Bearer x" }]) {
    const refused = await served.call(headers).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(RpcError);
    expect(refused).toMatchObject({ code: -32001, data: undefined });
  }
});

test("a key is valid in its time only", async () => {
  const past = new Date(Date.now() - 60_000).toISOString();
  const future = new Date(Date.now() + 60_000);
  const { key, record } = createApiKey();
  for (const [dates, valid] of [
    [{ notBefore: past, notAfter: future }, true],
    [{ notAfter: past }, false],
    [{ notBefore: future }, false],
    [{ notAfter: "soon" }, false],
  ] as const) {
    await using served = await serve([{ ...record, ...dates }]);
    const answer = await served.call({ "x-api-key": key }).catch(() => "refused");
    expect(answer).toBe(valid ? record.id : "refused");
  }
});

test("records that cannot work are refused when the server is made", () => {
  const { record } = createApiKey();
  expect(() => apiKeys([record, record])).toThrow("used twice");
  expect(() => apiKeys([{ ...record, hash: "abc" }])).toThrow("SHA-256");
  expect(() => createApiKey({ id: "a.b" })).toThrow("1 to 64");
});
