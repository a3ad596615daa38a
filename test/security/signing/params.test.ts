import { createHmac, sign } from "node:crypto";
import { createClient, createServer, exchangeLink, type Middleware } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import {
  canonicalJson,
  createSigningKey,
  refuseReplays,
  type SignedParamsOptions,
  signedParams,
  signParams,
} from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { whoami } from "../whoami.ts";

const secret = Buffer.from("0123456789abcdef0123456789abcdef");
const key = { kid: "agent-7", alg: "hmac-sha256", key: secret } as const;

/** Receives texts as any wire brings them. */
function serve(...use: Middleware[]) {
  const { methods, ran } = whoami();
  const all = {
    ...methods,
    executeTask: (params: { task: string }) => {
      ran.push(params.task);
      return Object.keys(params);
    },
  };
  const server = createServer(all, { use });
  const receive = async (request: object) => {
    const { result, error } = JSON.parse((await server.receive(JSON.stringify(request))) as string);
    return error === undefined ? result : (error.data?.reason ?? error.code);
  };
  return { ran, receive, server };
}

const clock = new FakeClock(Date.now());
const guarded = (more: Partial<SignedParamsOptions> = {}) =>
  signedParams({ keys: [key], clock, ...more });

const now = () => Math.floor(clock.now() / 1000);

/** A signature made without our code, as by a script. */
function signed(
  method: string,
  params: Record<string, unknown>,
  encoding: "hex" | "base64" = "hex",
) {
  const sorted = Object.fromEntries(Object.entries(params).sort(([a], [b]) => (a < b ? -1 : 1)));
  const text = JSON.stringify({ method, params: sorted });
  const signature = createHmac("sha256", secret).update(text).digest(encoding);
  return { jsonrpc: "2.0", method, params: { ...params, signature }, id: 21 };
}

describe("the form of a signature in params", () => {
  test("is the one of the tutorial, with a time stamp and a nonce", async () => {
    const { receive, ran } = serve(guarded());
    const task = { task: "train_model", timestamp: now(), nonce: "xy12" };
    // The method sees its own params only.
    expect(await receive(signed("executeTask", task))).toEqual(["task"]);
    expect(await receive(signed("executeTask", task))).toBe("replayed");
    expect(ran).toEqual(["train_model"]);
    const transfer = { amount: 100, timestamp: now(), nonce: "xy13" };
    expect(await receive(signed("transfer", transfer))).toEqual({ amount: 100 });
  });

  test("may be base64, and name its key", async () => {
    const { receive } = serve(guarded({ keys: [key, { ...key, kid: "agent-8" }] }));
    const params = { keyid: "agent-8", timestamp: now(), nonce: "1" };
    expect(await receive(signed("whoami", params, "base64"))).toBe("agent-8");
    const unnamed = { timestamp: now(), nonce: "2" };
    expect(await receive(signed("whoami", unnamed))).toBe("signature-invalid");
  });

  test("may be tried with several keys while they are changed", async () => {
    const next = createSigningKey("ed25519", "next");
    const { receive } = serve(
      guarded({ keys: [next.verifier, key], defaultKids: ["next", "agent-7"] }),
    );
    expect(await receive(signed("whoami", { timestamp: now(), nonce: "1" }))).toBe("agent-7");
    const params = { nonce: "2", timestamp: now() };
    const text = canonicalJson({ method: "whoami", params });
    const signature = sign(null, Buffer.from(text), next.signer.key as string).toString("hex");
    const request = { jsonrpc: "2.0", method: "whoami", params: { ...params, signature }, id: 1 };
    expect(await receive(request)).toBe("next");
  });

  test("leaves its members to methods that want them", async () => {
    const { receive } = serve(guarded({ keepMembers: true }));
    const params = { amount: 1, timestamp: now(), nonce: "n" };
    expect(await receive(signed("transfer", params))).toMatchObject(params);
  });

  test("is made by the client, and read over HTTP", async () => {
    const { methods } = whoami();
    const server = createServer(methods, { use: [signedParams({ keys: [key] })] });
    const http = await serveHttp(server, { port: 0 });
    const api = createClient<typeof methods>(httpLink(http.url), { use: [signParams({ key })] });
    expect(await api.call("whoami")).toBe("agent-7");
    const params = { b: 1.5, a: { ž: [null, true, 1e21], "🐎": "\u2028" } };
    expect(await api.call("transfer", params)).toEqual(params);
    await api.close();
    await server.close();
  });
});

describe("rich values", () => {
  test("are signed with their types, so that these cannot be changed", async () => {
    const { methods } = whoami();
    const server = createServer(methods, { use: [signedParams({ keys: [key] })] });
    let forge = (text: string): string => text;
    const link = exchangeLink(async (text) => await server.receive(forge(text)));
    const api = createClient(link, { values: "rich", use: [signParams({ key })] });
    const params = { at: new Date(0), size: 5n };
    expect(await api.call("transfer", params)).toEqual(params);
    forge = (text) => text.replace('"bigint":["/size"]', '"url":["/size"]');
    await expect(api.call("transfer", params)).rejects.toMatchObject({
      data: { reason: "signature-invalid" },
    });
    forge = (text) => text.replace(/"types":.*/, '"types":{}}');
    await expect(api.call("transfer", params)).rejects.toMatchObject({
      data: { reason: "signature-invalid" },
    });
  });
});

describe("refused, and no handler runs", () => {
  test("the examples of the tutorial: one has a made-up signature, one has none", async () => {
    const { receive, ran } = serve(guarded());
    const task = { task: "train_model", signature: "a1b2c3..." };
    const transfer = { amount: 100, timestamp: 1728623456, nonce: "xy12" };
    const request = { jsonrpc: "2.0", method: "executeTask", params: task, id: 21 };
    expect(await receive(request)).toBe("signature-invalid");
    const unsigned = { jsonrpc: "2.0", method: "transfer", params: transfer, id: 7 };
    expect(await receive(unsigned)).toBe("signature-missing");
    expect(await receive(signed("transfer", transfer))).toBe("signature-expired");
    expect(ran).toEqual([]);
  });

  test("changed params, and params without a time stamp or a nonce", async () => {
    const { receive, ran } = serve(guarded());
    const good = () => signed("transfer", { amount: 1, timestamp: now(), nonce: "n" });
    const with_ = (change: object) => ({ ...good(), params: { ...good().params, ...change } });
    const cases = [
      { ...good(), method: "whoami" },
      with_({ amount: 2 }),
      with_({ extra: 1 }),
      with_({ nonce: "m" }),
      with_({ keyid: "agent-7" }),
      with_({ keyid: ["agent-7"] }),
      with_({ signature: good().params.signature.slice(2) }),
      with_({ signature: 7 }),
      with_({ signature: `!${Buffer.from(good().params.signature, "hex").toString("base64")}` }),
      with_({ signature: "" }),
      with_({ text: "\ud800" }),
      signed("transfer", { amount: 1, timestamp: now() }),
      signed("transfer", { amount: 1, nonce: "n" }),
      signed("transfer", { amount: 1, nonce: "", timestamp: now() }),
      signed("transfer", { amount: 1, nonce: "x".repeat(129), timestamp: now() }),
      signed("transfer", { amount: 1, nonce: "n", timestamp: `${now()}` }),
    ];
    for (const request of cases) {
      expect(await receive(request), JSON.stringify(request)).toBe("signature-invalid");
    }
    const byPosition = { jsonrpc: "2.0", method: "transfer", params: [1], id: 1 };
    expect(await receive(byPosition)).toBe("signature-missing");
    expect(ran).toEqual([]);
    // A failed one used no nonce.
    expect(await receive(good())).toEqual({ amount: 1 });
  });

  test("params by position cannot be signed, and the client throws", async () => {
    const { server } = serve(guarded());
    const link = httpLink("http://localhost:1");
    const api = createClient(link, { use: [signParams({ key })] });
    await expect(api.call("transfer", [1])).rejects.toThrow("by name");
    await server.close();
  });
});

test("keys may have to be looked up", async () => {
  const keys = async (kid: string) => (kid === key.kid ? key : undefined);
  const { receive } = serve(guarded({ keys, defaultKids: ["unknown", "agent-7"] }));
  expect(await receive(signed("whoami", { timestamp: now(), nonce: "n" }))).toBe("agent-7");
});

test("unsigned calls may continue, without a principal", async () => {
  const { receive } = serve(guarded({ unsigned: "pass" }));
  expect(await receive({ jsonrpc: "2.0", method: "whoami", id: 1 })).toBe("nobody");
});

test("a nonce without a signature keeps a caller from sending twice", async () => {
  const { receive, ran } = serve(refuseReplays({ clock }));
  const transfer = (timestamp: number) => ({
    jsonrpc: "2.0",
    method: "transfer",
    params: { amount: 100, timestamp, nonce: "xy12" },
    id: 7,
  });
  expect(await receive(transfer(now()))).toMatchObject({ amount: 100, nonce: "xy12" });
  expect(await receive(transfer(now()))).toBe("replayed");
  expect(await receive(transfer(1728623456))).toBe("signature-expired");
  expect(await receive({ jsonrpc: "2.0", method: "transfer", id: 7 })).toBe("signature-missing");
  expect(ran).toEqual(["transfer"]);
});

test("the signature covers files, which go inside the message", async () => {
  const methods = { text: ({ file }: { file: Blob }) => file.text() };
  await using server = createServer(methods, { use: [signedParams({ keys: [key] })] });
  const { port } = await serveHttp(server, { port: 0 });
  const sent: string[] = [];
  const link = httpLink(`http://127.0.0.1:${port}/rpc`, {
    tap: (text, direction) => void (direction === "sent" && sent.push(text)),
  });
  await using client = createClient<typeof methods>(link, {
    values: "rich",
    use: [signParams({ key })],
  });
  expect(await client.api.text({ file: new Blob(["sea"]) })).toBe("sea");
  expect(JSON.parse(sent[0] as string).params.file.data).toBe("c2Vh");
});
