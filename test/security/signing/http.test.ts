import { createServer as createHttpServer, request } from "node:http";
import { createClient, createServer, type ServerOptions, stream, WireError } from "callwire";
import { fetchHandler, type HttpLinkOptions, httpLink } from "callwire/http";
import { nodeHandler, serveHttp } from "callwire/http/node";
import { authenticate } from "callwire/security";
import {
  createSigningKey,
  httpSigner,
  memoryNonces,
  type SignedRequestsOptions,
  type SigningKey,
  signedRequests,
} from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import express from "express";
import { describe, expect, test } from "vitest";
import { whoami } from "../whoami.ts";

const { signer: key } = createSigningKey("hmac-sha256", "client-1");
const replies = createSigningKey("ed25519", "server-1");
const principal = { id: "bob" };

/** A call in transit, to be changed or sent again. */
interface Sent {
  readonly url: string;
  readonly init: Omit<RequestInit, "headers" | "body"> & {
    readonly headers: Record<string, string>;
    readonly body: string;
  };
}

async function serve(options: Partial<SignedRequestsOptions> = {}, more: ServerOptions = {}) {
  const { methods, ran } = whoami();
  const credential = signedRequests({ keys: [{ ...key, principal }], ...options });
  const server = createServer(methods, { use: [authenticate(credential)], ...more });
  const http = await serveHttp(server, { port: 0, mounts: { "/other": server } });
  const client = (link: HttpLinkOptions = {}, url = http.url) =>
    createClient<typeof methods>(httpLink(url, { signer: httpSigner({ key }), ...link }));
  /** Makes a call and captures what would be sent. */
  const record = async (
    own: SigningKey = key,
    url = http.url,
    clock?: FakeClock,
  ): Promise<Sent> => {
    let sent: Sent | undefined;
    const link = httpLink(url, {
      signer: httpSigner({ key: own, ...(clock && { clock }) }),
      fetch: (to, init) => {
        sent = { url: to, init: init as Sent["init"] };
        return Promise.reject(new Error("not sent"));
      },
    });
    await createClient<typeof methods>(link)
      .call("whoami")
      .catch(() => {});
    return sent as unknown as Sent;
  };
  return { http, server, ran, client, record, [Symbol.asyncDispose]: () => server.close() };
}

async function send({ url, init }: Sent): Promise<[status: number, reason: unknown]> {
  const { signal: _, ...rest } = init;
  const response = await fetch(url, rest);
  const reply = await response.json();
  return [response.status, reply.error?.data?.reason ?? reply.result];
}

function changed(sent: Sent, headers: Record<string, string>, body = sent.init.body): Sent {
  return { ...sent, init: { ...sent.init, body, headers: { ...sent.init.headers, ...headers } } };
}

describe("a signed request", () => {
  test.each(["hmac-sha256", "ed25519"] as const)("identifies the caller, with %s", async (alg) => {
    const { signer, verifier } = createSigningKey(alg);
    await using served = await serve({ keys: [{ ...verifier, principal }] });
    const client = served.client({ signer: httpSigner({ key: signer }) });
    expect(await client.call("whoami")).toBe("bob");
    expect(await client.call("whoami")).toBe("bob");
    await client.close();
  });

  test("has the principal of its key if the record has none", async () => {
    await using served = await serve({ keys: async (kid) => (kid === key.kid ? key : undefined) });
    expect(await served.client().call("whoami")).toBe("client-1");
  });

  test("covers the query if there is one", async () => {
    await using served = await serve();
    const url = `${served.http.url}?a=1&b=%20`;
    expect(await served.client({}, url).call("whoami")).toBe("bob");
    const sent = await served.record(key, url);
    expect(await send({ ...sent, url: `${served.http.url}?a=2` })).toEqual([
      401,
      "signature-invalid",
    ]);
    // Nor can one be added to a request that had none.
    const plain = await served.record();
    expect(await send({ ...plain, url })).toEqual([401, "signature-invalid"]);
  });

  test("may be a batch, with one nonce for all of it", async () => {
    const nonces = memoryNonces();
    await using served = await serve({ nonces });
    const results = await served
      .client()
      .batch((api) => [api.whoami(), api.whoami(), api.whoami()]);
    expect(results).toEqual(["bob", "bob", "bob"]);
    expect(nonces.size).toBe(1);
  });

  test("may hold any text", async () => {
    await using served = await serve();
    const text = "žluťoučký 🐎 \u0000 \u2028 \\u0041";
    expect(await served.client().call("transfer", { text })).toEqual({ text });
  });

  test("is understood by fetchHandler, and behind Express", async () => {
    const { methods } = whoami();
    const make = () =>
      createServer(methods, { use: [authenticate(signedRequests({ keys: [key] }))] });
    const handler = fetchHandler(make());
    const link = httpLink("http://localhost/rpc", {
      signer: httpSigner({ key }),
      fetch: (url, init) => handler(new Request(url, init)),
    });
    expect(await createClient<typeof methods>(link).call("whoami")).toBe("client-1");
    const app = express();
    app.use("/rpc", nodeHandler(make()));
    app.use("/parsed", express.json(), nodeHandler(make()));
    const http = createHttpServer(app).listen(0, "127.0.0.1");
    try {
      await new Promise((resolve) => http.once("listening", resolve));
      const { port } = http.address() as { port: number };
      const at = (path: string) =>
        createClient<typeof methods>(
          httpLink(`http://127.0.0.1:${port}${path}`, { signer: httpSigner({ key }) }),
        ).call("whoami");
      expect(await at("/rpc")).toBe("client-1");
      // A body that was parsed before is not what was signed.
      await expect(at("/parsed")).rejects.toMatchObject({ data: { reason: "signature-invalid" } });
    } finally {
      http.closeAllConnections();
      http.close();
    }
  });
});

describe("refused, and no handler runs", () => {
  test("an unsigned request", async () => {
    await using served = await serve();
    const { signer: _, ...plain } = { signer: undefined };
    const client = createClient(httpLink(served.http.url, plain));
    await expect(client.call("whoami")).rejects.toMatchObject({ code: -32001 });
    expect(served.ran).toEqual([]);
  });

  test("a replayed request", async () => {
    await using served = await serve();
    const sent = await served.record();
    expect(await send(sent)).toEqual([200, "bob"]);
    expect(await send(sent)).toEqual([401, "replayed"]);
    expect(served.ran).toEqual(["whoami"]);
  });

  test("a changed request", async () => {
    await using served = await serve();
    const sent = await served.record();
    const { headers, body } = sent.init;
    const digest = (await served.record()).init.headers["content-digest"] as string;
    const input = headers["signature-input"] as string;
    const cases: Record<string, Sent> = {
      body: changed(sent, {}, body.replace("whoami", "transfer")),
      "a space in the body": changed(sent, {}, `${body} `),
      "content type": changed(sent, { "content-type": "application/json; charset=utf-8" }),
      path: { ...sent, url: sent.url.replace("/rpc", "/other") },
      "the digest": changed(sent, { "content-digest": digest.replace("=:", "=:AAAA") }),
      "no digest": changed(sent, { "content-digest": "" }),
      nonce: changed(sent, { "signature-input": input.replace(/nonce="[^"]*"/, 'nonce="other"') }),
      created: changed(sent, { "signature-input": input.replace(/created=(\d+)/, "created=1") }),
      kid: changed(sent, { "signature-input": input.replace("client-1", "client-2") }),
      "an algorithm of its own": changed(sent, { "signature-input": `${input};alg="ed25519"` }),
      "a component less": changed(sent, {
        "signature-input": input.replace(' "content-digest"', ""),
      }),
      "a component twice": changed(sent, {
        "signature-input": input.replace('"@path"', '"@path" "@path"'),
      }),
      "no signature": changed(sent, { signature: "" }),
      "an empty one": changed(sent, { signature: "callwire=::" }),
      garbage: changed(sent, { signature: "%%%", "signature-input": "((((" }),
    };
    for (const [name, each] of Object.entries(cases)) {
      expect(await send(each), name).toEqual([401, "signature-invalid"]);
    }
    expect(served.ran).toEqual([]);
    // A failed request used no nonce: the real one still passes.
    expect(await send(sent)).toEqual([200, "bob"]);
  });

  test("a request for another host", async () => {
    await using served = await serve();
    const sent = await served.record(key, served.http.url.replace("127.0.0.1", "localhost"));
    expect(await send({ ...sent, url: served.http.url })).toEqual([401, "signature-invalid"]);
  });

  test("a request that is too old, from the future, or expired", async () => {
    const clock = new FakeClock(Date.now());
    await using served = await serve({ clock });
    const at = async (offsetMs: number) => {
      const sender = new FakeClock(clock.now() + offsetMs);
      return (await send(await served.record(key, served.http.url, sender)))[1];
    };
    clock.advance(600_000);
    expect(await at(0)).toBe("bob");
    expect(await at(-58_000)).toBe("bob");
    expect(await at(58_000)).toBe("bob");
    expect(await at(-62_000)).toBe("signature-expired");
    expect(await at(62_000)).toBe("signature-expired");
  });

  test("a request that the previous process may have seen", async () => {
    const clock = new FakeClock(Date.now());
    await using before = await serve({ clock });
    const sent = await before.record(key, before.http.url, clock);
    clock.advance(5_000);
    await using after = await serve({ clock });
    const { port } = after.http;
    // Under the same name, so that the signature fits.
    const host = new URL(before.http.url).host;
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const headers: Record<string, string> = { ...sent.init.headers, host };
      request({ port, path: "/rpc", method: "POST", headers }, (reply) => {
        resolve(reply.resume().statusCode);
      })
        .on("error", reject)
        .end(sent.init.body);
    });
    expect(status).toBe(401);
    expect(after.ran).toEqual([]);
  });

  test("more than the store has room for, until there is room", async () => {
    const clock = new FakeClock(Date.now());
    const nonces = memoryNonces({ clock, capacity: 1 });
    await using served = await serve({ nonces, clock });
    const make = () => served.record(key, served.http.url, clock);
    expect(await send(await make())).toEqual([200, "bob"]);
    expect((await send(await make()))[0]).toBe(503);
    clock.advance(300_000);
    expect(await send(await make())).toEqual([200, "bob"]);
  });

  test("keys before and after their time", async () => {
    const clock = new FakeClock(Date.now());
    const at = (ms: number) => new Date(clock.now() + ms);
    const [old, next] = [
      createSigningKey("hmac-sha256", "old"),
      createSigningKey("ed25519", "next"),
    ];
    await using served = await serve({
      clock,
      keys: [
        { ...old.verifier, principal, notAfter: at(60_000) },
        { ...next.verifier, principal, notBefore: at(30_000) },
      ],
    });
    const call = async (signer: SigningKey) =>
      (await send(await served.record(signer, served.http.url, clock)))[1];
    expect([await call(old.signer), await call(next.signer)]).toEqual(["bob", "signature-invalid"]);
    clock.advance(45_000);
    expect([await call(old.signer), await call(next.signer)]).toEqual(["bob", "bob"]);
    clock.advance(45_000);
    expect([await call(old.signer), await call(next.signer)]).toEqual(["signature-invalid", "bob"]);
  });

  test("a public Ed25519 key used as the secret of an HMAC", async () => {
    const { verifier } = createSigningKey("ed25519", "client-1");
    await using served = await serve({ keys: [verifier] });
    const forged: SigningKey = {
      kid: "client-1",
      alg: "hmac-sha256",
      key: Buffer.from(verifier.key as string),
    };
    expect(await send(await served.record(forged))).toEqual([401, "signature-invalid"]);
  });
});

describe("a signed reply", () => {
  const signer = () => httpSigner({ key, replyKeys: [replies.verifier] });

  test("is accepted, as are errors and the reply to a notification", async () => {
    await using served = await serve({ replyKey: replies.signer });
    for (const link of [{ signer: signer() }, { signer: signer(), fetch }]) {
      const client = served.client(link as HttpLinkOptions);
      expect(await client.call("whoami")).toBe("bob");
      await expect(client.call("nothing" as "whoami")).rejects.toMatchObject({ code: -32601 });
      await client.notify("whoami");
      await client.close();
    }
  });

  test("comes from fetchHandler too", async () => {
    const { methods } = whoami();
    const credential = signedRequests({ keys: [key], replyKey: replies.signer });
    const handler = fetchHandler(createServer(methods, { use: [authenticate(credential)] }));
    const link = httpLink("http://localhost/rpc", {
      signer: signer(),
      fetch: (url, init) => handler(new Request(url, init)),
    });
    const client = createClient<typeof methods>(link);
    expect(await client.call("whoami")).toBe("client-1");
    await client.notify("whoami");
  });

  test("is not there for a stream of events, which is refused", async () => {
    const { methods } = whoami();
    const count = stream({}, async function* () {
      yield 1;
    });
    const credential = signedRequests({ keys: [key], replyKey: replies.signer });
    const server = createServer({ ...methods, count }, { use: [authenticate(credential)] });
    const http = await serveHttp(server, { port: 0 });
    for (const more of [{}, { fetch }]) {
      const options = { signer: signer(), ...more } as HttpLinkOptions;
      const client = createClient<{ count: typeof count }>(httpLink(http.url, options));
      const read = async () => {
        for await (const _ of client.stream("count"));
      };
      await expect(read()).rejects.toThrow("not signed");
      await client.close();
    }
    // A client that does not ask for signed replies gets the items of a signed request.
    const link = httpLink(http.url, { signer: httpSigner({ key }) });
    const items: unknown[] = [];
    for await (const item of createClient<{ count: typeof count }>(link).stream("count")) {
      items.push(item);
    }
    expect(items).toEqual([1]);
    await link.close();
    await server.close();
  });

  test("that is missing, changed, or of another request is refused", async () => {
    await using served = await serve({ replyKey: replies.signer });
    await using unsigned = await serve();
    const plain = unsigned.client({ signer: signer() });
    await expect(plain.call("whoami")).rejects.toThrow("not signed");
    const kept: Response[] = [];
    const through = (change: (response: Response, text: string) => Response) =>
      served
        .client({
          signer: signer(),
          fetch: async (url, init) => {
            const response = await fetch(url, init);
            return change(response, await response.text());
          },
        })
        .call("whoami");
    const same = await through((response, text) => {
      kept.push(new Response(text, response));
      return new Response(text, response);
    });
    expect(same).toBe("bob");
    const fakes: ((response: Response, text: string) => Response)[] = [
      (response, text) => new Response(text.replace("bob", "eve"), response),
      (response, text) => new Response(text, { status: 202, headers: response.headers }),
      () => kept[0] as Response,
    ];
    for (const fake of fakes) {
      const refused = await through(fake).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(WireError);
      expect((refused as WireError).message).toMatch(/not valid|not JSON/);
    }
  });

  test("reports a refusal by its status, although it is not signed", async () => {
    await using served = await serve({ replyKey: replies.signer, keys: [] });
    const refused = served.client({ signer: signer() }).call("whoami");
    await expect(refused).rejects.toMatchObject({ code: "BAD_REPLY", status: 401 });
  });
});

test("keys that cannot work are refused when they are read, without showing them", () => {
  const bad: [SigningKey, string][] = [
    [{ kid: "a", alg: "hmac-sha256", key: "c2hvcnQ" }, "at least 32"],
    [{ kid: "a", alg: "hmac-sha256", key: "not base64 at all!" }, "base64"],
    [{ kid: "a", alg: "ed25519", key: "-----BEGIN PUBLIC KEY-----\nsecret" }, "PEM or JWK"],
    [{ kid: "a", alg: "none" as "ed25519", key: "" }, 'hmac-sha256" or "ed25519'],
    [{ kid: 'a"b', alg: "hmac-sha256", key: key.key }, "kid"],
    [{ ...key, notAfter: "soon" }, "not a valid date"],
  ];
  for (const [record, sentence] of bad) {
    const made = () => signedRequests({ keys: [record] });
    expect(made).toThrow(TypeError);
    expect(made).toThrow(sentence);
    expect(made).not.toThrow("secret\n");
  }
  expect(() => signedRequests({ keys: [key, key] })).toThrow("used twice");
  expect(() => httpSigner({ key: replies.verifier })).not.toThrow();
});
