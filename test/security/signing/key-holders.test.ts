/**
 * What even the holder of a valid key is refused: each message here is signed by hand, with a valid
 * signature.
 */
import { createHash, createHmac } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import {
  type Context,
  createClient,
  createServer,
  isRpcError,
  Origin,
  type Principal,
  type Transport,
} from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate, bearer } from "callwire/security";
import {
  createSigningKey,
  httpSigner,
  type SignedMessagesOptions,
  signedMessages,
  signedParams,
  signedRequests,
  signParams,
} from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import { webSocketLink } from "callwire/ws";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { isFull } from "../../full.ts";
import { whoami } from "../whoami.ts";

const secret = Buffer.alloc(32, 9);
const key = { kid: "k", alg: "hmac-sha256", key: secret } as const;
const call = '{"jsonrpc":"2.0","method":"whoami","id":1}';

const hmac = (text: string) => createHmac("sha256", secret).update(text).digest();
const start = Date.now();
let clock = new FakeClock(start);
beforeEach(() => {
  clock = new FakeClock(start);
});
const now = () => Math.floor(clock.now() / 1000);

describe("over HTTP", () => {
  const digest = `sha-256=:${createHash("sha256").update(call).digest("base64")}:`;
  const values: Record<string, string> = {
    '"@method"': "POST",
    '"@authority"': "localhost",
    '"@path"': "/rpc",
    '"content-type"': "application/json",
    '"content-digest"': digest,
    '"@target-uri"': "http://localhost/rpc",
    '"content-type";sf': "application/json",
  };
  const usual = Object.keys(values).slice(0, 5);

  function transport(components: readonly string[], parameters: string): Transport {
    const params = `(${components.join(" ")});keyid="k";${parameters}`;
    const lines = components.map((name) => `${name}: ${values[name]}`);
    const base = [...lines, `"@signature-params": ${params}`].join("\n");
    const headers = {
      "content-type": "application/json",
      "content-digest": digest,
      "signature-input": `sig=${params}`,
      signature: `sig=:${hmac(base).toString("base64")}:`,
    };
    const http = {
      method: "POST",
      authority: "localhost",
      target: "/rpc",
      body: call,
      signReply: undefined,
    };
    return { kind: "http", headers, remoteAddress: undefined, http };
  }

  const verdict = async (components: readonly string[], parameters: string) => {
    const answer = await signedRequests({ keys: [key], clock }).verify(
      transport(components, parameters),
    );
    return isErrorLike(answer) ? answer.data.reason : (answer as Principal).id;
  };

  test("a valid message passes", async () => {
    expect(await verdict(usual, `created=${now()};nonce="a"`)).toBe("k");
    expect(await verdict(usual, `created=${now()};nonce="a";alg="hmac-sha256"`)).toBe("k");
  });

  test.each([
    ["another algorithm than the key's", usual, `created=${now()};nonce="a";alg="ed25519"`],
    ["an algorithm that is no text", usual, `created=${now()};nonce="a";alg=?1`],
    ["a component twice", [...usual, '"@method"'], `created=${now()};nonce="a"`],
    ["a component that nobody knows", [...usual, '"@target-uri"'], `created=${now()};nonce="a"`],
    ["a form that nobody knows", [...usual, '"content-type";sf'], `created=${now()};nonce="a"`],
    ["no time", usual, 'nonce="a"'],
    ["a time that is no number", usual, `created="${now()}";nonce="a"`],
    ["no nonce", usual, `created=${now()}`],
    ["an empty nonce", usual, `created=${now()};nonce=""`],
    ["a nonce that is no text", usual, `created=${now()};nonce=7`],
    ["an end that is no number", usual, `created=${now()};nonce="a";expires="x"`],
  ])("%s", async (_, components, parameters) => {
    expect(await verdict(components, parameters)).toBe("signature-invalid");
  });

  test("a component less, whichever it is", async () => {
    for (const left of usual) {
      const rest = usual.filter((name) => name !== left);
      expect(await verdict(rest, `created=${now()};nonce="a"`), left).toBe("signature-invalid");
    }
  });

  test("a message after its own expiry", async () => {
    const parameters = `created=${now() - 10};nonce="a";expires=${now() - 5}`;
    expect(await verdict(usual, parameters)).toBe("signature-expired");
  });

  test("one request is verified once, however often it is read", async () => {
    const credential = signedRequests({ keys: [key], clock });
    const request = transport(usual, `created=${now()};nonce="a"`);
    expect(await credential.verify(request)).toEqual({ id: "k" });
    expect(await credential.verify(request)).toEqual({ id: "k" });
    const again = transport(usual, `created=${now()};nonce="a"`);
    expect(await credential.verify(again)).toMatchObject({ data: { reason: "replayed" } });
  });

  test("a request without a body needs no digest", async () => {
    const get = transport(usual.slice(0, 3), `created=${now()};nonce="a"`);
    const { signature: _, ...headers } = get.headers;
    const params = headers["signature-input"]?.slice("sig=".length);
    const lines = ['"@method": GET', '"@authority": localhost', '"@path": /rpc'];
    const base = [...lines, `"@signature-params": ${params}`].join("\n");
    const signed = { ...headers, signature: `sig=:${hmac(base).toString("base64")}:` };
    const http = { ...get.http, method: "GET", body: undefined } as NonNullable<Transport["http"]>;
    const credential = signedRequests({ keys: [key], clock });
    expect(await credential.verify({ ...get, headers: signed, http })).toEqual({ id: "k" });
  });

  test("keys and nonces may have to be looked up", async () => {
    const parameters = `created=${now()};nonce="a"`;
    const reasonWith = async (found: typeof key | undefined, verdict: "new" | "seen") => {
      const nonces = { take: async () => verdict };
      const credential = signedRequests({ keys: async () => found, nonces, clock });
      const answer = await credential.verify(transport(usual, parameters));
      return isErrorLike(answer) ? answer.data.reason : (answer as Principal).id;
    };
    expect(await reasonWith(key, "new")).toBe("k");
    expect(await reasonWith(key, "seen")).toBe("replayed");
    expect(await reasonWith(undefined, "new")).toBe("signature-invalid");
  });

  test("an unsigned request is left to other credentials, and one without a key is refused", () => {
    const credential = signedRequests({ keys: [key], clock });
    const { headers, http, ...rest } = transport(usual, `created=${now()};nonce="a"`);
    expect(credential.verify({ ...rest, headers, http: undefined })).toBeUndefined();
    expect(credential.verify({ ...rest, headers: {}, http })).toBeUndefined();
    const signature = "sig=:YWJj:";
    for (const input of ["", "=", "sig=()", "sig=();keyid=5", 'sig=();keyid="unknown"']) {
      const changed = { signature, "signature-input": input };
      const answer = credential.verify({ ...rest, headers: changed, http });
      expect(answer, input).toMatchObject({ data: { reason: "signature-invalid" } });
    }
  });

  test("whatever the headers hold, there is an answer", async () => {
    const credential = signedRequests({ keys: [key], clock });
    const text = fc.oneof(
      fc.string(),
      fc.string({ unit: fc.constantFrom(...'sig=();",:abc019?*- ') }),
    );
    await fc.assert(
      fc.asyncProperty(text, text, text, async (input, signature, contentDigest) => {
        const { headers, ...rest } = transport(usual, `created=${now()};nonce="a"`);
        const changed = {
          ...headers,
          "signature-input": input,
          signature,
          "content-digest": contentDigest,
        };
        const answer = await credential.verify({ ...rest, headers: changed });
        expect(answer).toMatchObject({ code: -32001 });
      }),
      { numRuns: isFull ? 2_000 : 500 },
    );
  });

  test("a reply that is not bound to its request", async () => {
    const server = createHttpServer((request, response) => {
      const body = '{"jsonrpc":"2.0","result":"eve","id":1}';
      const bodyDigest = `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
      const params = `("@status" "content-digest");created=${now()};keyid="k"`;
      const base = `"@status": 200\n"content-digest": ${bodyDigest}\n"@signature-params": ${params}`;
      request.resume().on("end", () => {
        response.writeHead(200, {
          "content-type": "application/json",
          "content-digest": bodyDigest,
          "signature-input": `sig=${params}`,
          signature: `sig=:${hmac(base).toString("base64")}:`,
        });
        response.end(body);
      });
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    const signer = httpSigner({ key, replyKeys: [key] });
    const link = httpLink(`http://127.0.0.1:${port}/rpc`, { signer });
    await expect(createClient(link).call("whoami")).rejects.toThrow("not valid");
    await link.close();
    server.closeAllConnections();
    server.close();
  });
});

describe("on a connection", () => {
  const other = createSigningKey("ed25519", "host");
  const makeClient = (more: SignedMessagesOptions = {}) =>
    signedMessages({ key, keys: [other.verifier], clock, ...more })();
  const makeHost = (more: SignedMessagesOptions = {}) =>
    signedMessages({ key: other.signer, keys: [key], clock, ...more })();

  /** Two peers that know each other's keys. */
  function introduced(more: SignedMessagesOptions = {}) {
    const [left, right] = [makeClient(), makeHost(more)];
    const origins = { left: new Origin(), right: new Origin() };
    expect(right.open(left.seal(call), origins.right)).toBe(call);
    expect(left.open(right.seal(call), origins.left)).toBe(call);
    return { left, right, origins };
  }

  /** An envelope around the call, with any header. */
  function envelope(header: object, msg = call): string {
    const full = { alg: "HS256", kid: "k", b64: false, crit: ["b64"], iat: now(), ...header };
    const head = Buffer.from(JSON.stringify(full)).toString("base64url");
    const jws = `${head}..${hmac(`${head}.${msg}`).toString("base64url")}`;
    return JSON.stringify({ jws, msg });
  }

  const reason = (answer: unknown) =>
    typeof answer === "string"
      ? "passed"
      : (answer as { error: { data: { reason: string } } }).error.data.reason;

  function judged(header: object, msg?: string) {
    return reason(makeHost().open(envelope(header, msg), new Origin()));
  }

  test("a valid message passes", () => {
    expect(judged({ nonce: "a" })).toBe("passed");
    expect(judged({ nonce: "a", exp: now() + 30 })).toBe("passed");
  });

  test.each<[string, object]>([
    ["another algorithm than the key's", { nonce: "a", alg: "EdDSA" }],
    ["an algorithm that nobody knows", { nonce: "a", alg: "none" }],
    ["a payload that would be base64", { nonce: "a", b64: true }],
    ["what must be understood and is not", { nonce: "a", crit: ["b64", "exp"] }],
    ["nothing that must be understood", { nonce: "a", crit: undefined }],
    ["no nonce", {}],
    ["no time", { nonce: "a", iat: undefined }],
    ["a time that is no number", { nonce: "a", iat: "now" }],
    ["no key", { nonce: "a", kid: undefined }],
    ["a key that is no text", { nonce: "a", kid: 5 }],
  ])("%s", (_, header) => {
    expect(judged(header)).toBe("signature-invalid");
  });

  test("a message after its own expiry, or for another connection", () => {
    expect(judged({ nonce: "a", exp: now() - 1 })).toBe("signature-expired");
    expect(judged({ nonce: "a", to: "somebody", seq: 1 })).toBe("replayed");
  });

  test("a reply that names no connection", () => {
    expect(judged({ nonce: "a" }, '{"jsonrpc":"2.0","result":1,"id":1}')).toBe("signature-invalid");
    const batch = `[${call},{"jsonrpc":"2.0","result":1,"id":1}]`;
    expect(judged({ nonce: "a" }, batch)).toBe("signature-invalid");
    // Everything that cannot be a reply passes: calls, and what the server then cannot read.
    for (const text of [`[${call},${call}]`, "{"]) {
      expect(judged({ nonce: "a" }, text)).toBe("passed");
    }
  });

  test("an invalid sequence number counts for nothing", () => {
    const [host, origin] = [makeHost(), new Origin()];
    const numbered = (seq: unknown, nonce: string) =>
      reason(host.open(envelope({ seq, nonce, sid: "s" }), origin));
    expect([numbered(5, "a"), numbered("1", "b"), numbered(4, "c")]).toEqual([
      "passed",
      "passed",
      "replayed",
    ]);
  });

  test("a message that was held back for too long", () => {
    const { left, right, origins } = introduced();
    const held = left.seal(call);
    clock.advance(62_000);
    expect(reason(right.open(held, origins.right))).toBe("signature-expired");
    expect(right.open(left.seal(call), origins.right)).toBe(call);
  });

  test("a message from before this process started, except over stdio", () => {
    const first = makeClient().seal(call);
    clock.advance(5_000);
    const late = makeHost();
    expect(reason(late.open(first, new Origin()))).toBe("replayed");
    const transport = { kind: "stdio", headers: {}, remoteAddress: undefined };
    expect(late.open(first, new Origin(transport))).toBe(call);
    expect(reason(late.open(first, new Origin(transport)))).toBe("replayed");
    clock.advance(6_000);
    expect(reason(makeHost().open(first, new Origin(transport)))).toBe("replayed");
  });

  test("the first message of another connection, whose ids mean other calls", () => {
    const { right, origins } = introduced();
    expect(reason(right.open(makeClient().seal(call), origins.right))).toBe("replayed");
    expect(reason(right.open(envelope({ nonce: "b" }), origins.right))).toBe("replayed");
  });

  test("first messages out of order, and repeated sequence numbers of a sender without a sid", () => {
    const [left, right, origin] = [makeClient(), makeHost(), new Origin()];
    const [one, two] = [left.seal(call), left.seal(call)];
    expect(right.open(two, origin)).toBe(call);
    expect(reason(right.open(one, origin))).toBe("replayed");
    const [host, own] = [makeHost(), new Origin()];
    const { jws } = JSON.parse(host.seal(call));
    const { sid: to } = JSON.parse(Buffer.from(jws.split(".")[0], "base64url").toString());
    const counted = envelope({ to, seq: 1 });
    expect(host.open(counted, own)).toBe(call);
    expect(reason(host.open(counted, own))).toBe("replayed");
  });

  test("messages out of order, repeated, or of another sender with the same key", () => {
    const { left, right, origins } = introduced();
    const [one, two] = [left.seal(call), left.seal(call)];
    expect(right.open(two, origins.right)).toBe(call);
    expect(reason(right.open(one, origins.right))).toBe("replayed");
    expect(reason(right.open(two, origins.right))).toBe("replayed");
    const { jws } = JSON.parse(left.seal(call));
    const { to } = JSON.parse(Buffer.from(jws.split(".")[0], "base64url").toString());
    const stranger = envelope({ to, sid: "another", seq: 1_000 });
    expect(reason(right.open(stranger, origins.right))).toBe("replayed");
  });

  test("an unsigned message in the middle of signed ones", () => {
    const { right, origins } = introduced({ unsigned: "pass" });
    expect(reason(right.open(call, origins.right))).toBe("signature-missing");
    expect(makeHost({ unsigned: "pass" }).open(call, new Origin())).toBe(call);
  });

  test("whatever arrives, there is an answer", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json(), fc.string().map(withJws)), (text) => {
        expect(reason(makeHost().open(text, new Origin()))).toMatch(/^signature-/);
      }),
      { numRuns: isFull ? 2_000 : 500 },
    );
  });

  function withJws(jws: string): string {
    return JSON.stringify({ jws: `${jws}..${jws}`, msg: call });
  }
});

describe("beside other credentials", () => {
  const token = bearer((text) => (text === "t" ? { id: "alice" } : undefined));
  const headers = { authorization: "Bearer t" };

  test("params that another principal has signed", async () => {
    const { methods, ran } = whoami();
    const use = [authenticate(token, { anonymous: true }), signedParams({ keys: [key] })];
    const server = createServer(methods, { use });
    const http = await serveHttp(server, { port: 0 });
    const client = (options: object, signs: boolean) =>
      createClient<typeof methods>(httpLink(http.url, options), {
        use: signs ? [signParams({ key })] : [],
      }).call("whoami");
    expect(await client({ headers }, false)).toBe("alice");
    expect(await client({}, true)).toBe("k");
    const mixed = await client({ headers }, true).catch((error: unknown) => error);
    expect(isRpcError(mixed, -32001) && mixed.data).toEqual({ reason: "principal-changed" });
    expect(ran).toHaveLength(2);
    await server.close();
  });

  test("messages that another principal has signed, over WebSocket", async () => {
    const { methods } = whoami();
    const other = createSigningKey("ed25519", "host");
    const seal = signedMessages({ key: other.signer, keys: [key] });
    const use = [authenticate(token, { connections: "any" })];
    const server = createServer(methods, { seal, use });
    const http = await serveHttp(server, { port: 0 });
    const own = signedMessages({ key, keys: [other.verifier] });
    const options = { seal: own, reconnect: false };
    const signed = createClient<typeof methods>(webSocketLink(http.url, options));
    // The signature is all that is needed.
    expect(await signed.call("whoami")).toBe("k");
    const mixed = createClient<typeof methods>(webSocketLink(http.url, { ...options, headers }));
    await expect(mixed.call("whoami")).rejects.toThrow();
    await Promise.all([signed.close(), mixed.close()]);
    await server.close();
  });
});

function isErrorLike(answer: unknown): answer is { data: { reason: string } } {
  return typeof answer === "object" && answer !== null && "code" in answer;
}

test("a principal that was found by a signature is seen by every middleware after", async () => {
  const { methods } = whoami();
  const seen: unknown[] = [];
  const server = createServer(methods, {
    use: [
      signedParams({ keys: [{ ...key, principal: { id: "bob", roles: ["x"] } }] }),
      (next) => (request, context: Context) => {
        seen.push(context.principal);
        return next(request, context);
      },
    ],
  });
  const http = await serveHttp(server, { port: 0 });
  const client = createClient<typeof methods>(httpLink(http.url), { use: [signParams({ key })] });
  expect(await client.call("whoami")).toBe("bob");
  expect(seen).toEqual([{ id: "bob", roles: ["x"] }]);
  await client.close();
  await server.close();
});
