import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { runInNewContext } from "node:vm";
import { authenticate, bearer } from "callwire/security";
import { type JwtOptions, jwt, oauthChallenge } from "callwire/security/jwt";
import { FakeClock } from "callwire/testing";
import { connectWebSocket } from "callwire/ws";
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  type JWK,
  type JWTPayload,
  SignJWT,
} from "jose";
import { describe, expect, test } from "vitest";
import { RecordingLog } from "../server/asking.ts";
import { json, send, serve } from "../transports/http/wire.ts";

const issuer = "https://issuer.example";
const audience = "https://api.example";

interface Pair {
  readonly privateKey: CryptoKey;
  readonly publicKey: CryptoKey;
  readonly jwk: JWK;
}

async function pair(kid: string, alg = "ES256"): Promise<Pair> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } };
}

interface Form {
  readonly claims?: JWTPayload;
  readonly header?: Record<string, unknown>;
  readonly key?: CryptoKey | Uint8Array;
}

/** A token that is valid unless the form says otherwise. */
function token(own: Pair, { claims, header, key }: Form = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: issuer, aud: audience, sub: "bob", iat: now, exp: now + 300, ...claims };
  return new SignJWT(all)
    .setProtectedHeader({ alg: own.jwk.alg ?? "", kid: own.jwk.kid ?? "", ...header })
    .sign(key ?? own.privateKey);
}

/** The address at which an issuer publishes its keys. */
async function endpoint(keys: JWK[]) {
  const state = { keys, asked: 0, status: 200 };
  const server = createHttpServer((_, response) => {
    state.asked++;
    response.writeHead(state.status, { "content-type": "application/json" });
    response.end(JSON.stringify({ keys: state.keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
  return {
    state,
    url,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function local(options: Partial<JwtOptions> = {}, own?: Pair) {
  const key = own ?? (await pair("k1"));
  const verify = jwt({ issuer, audience, keys: { keys: [key.jwk] }, ...options });
  return { key, verify };
}

describe("a token", () => {
  test("identifies the caller, with roles, scopes and claims", async () => {
    const { key, verify } = await local();
    const claims = { roles: ["admin", 7], scope: "read  write", team: "x" };
    expect(await verify(await token(key, { claims }))).toMatchObject({
      id: "bob",
      roles: ["admin"],
      scopes: ["read", "write"],
      claims: { team: "x", iss: issuer },
    });
    const scp = { scp: ["read"] };
    expect(await verify(await token(key, { claims: scp }))).toMatchObject({ scopes: ["read"] });
  });

  test("can be mapped by a function of one's own", async () => {
    const principal = ({ email }: JWTPayload) =>
      typeof email === "string" ? { id: email } : undefined;
    const { key, verify } = await local({ principal });
    const exp = 4_000_000_000;
    expect(await verify(await token(key, { claims: { email: "b@x", exp } }))).toEqual({
      id: "b@x",
      expiresAt: exp * 1000 + 60_000,
    });
    expect(await verify(await token(key))).toBeUndefined();
  });

  test("may expire before a principal with its own expiry", async () => {
    const principal = () => ({ id: "bob", expiresAt: Number.POSITIVE_INFINITY });
    const { key, verify } = await local({ principal });
    expect(await verify(await token(key))).toEqual(principal());
  });

  test.each<[name: string, form: Form]>([
    ["of another issuer", { claims: { iss: "https://evil.example" } }],
    ["for another audience", { claims: { aud: "https://other.example" } }],
    ["without an audience", { claims: { aud: undefined as never } }],
    ["that has expired", { claims: { exp: 1_000 } }],
    ["that never expires", { claims: { exp: undefined as never } }],
    ["that is not valid yet", { claims: { nbf: 99_999_999_999 } }],
    ["without a subject", { claims: { sub: "" } }],
    ["of a foreign kid", { header: { kid: "other" } }],
    ["with a critical header that nobody knows", { header: { crit: ["x"], x: 1 } }],
  ])("%s is refused", async (_, form) => {
    const { key, verify } = await local();
    const made = await token(key, form).catch(async () => {
      // jose does not sign what it does not know, so the header is changed afterwards.
      const [, ...rest] = (await token(key)).split(".");
      const header = { alg: "ES256", kid: "k1", ...form.header };
      return [Buffer.from(JSON.stringify(header)).toString("base64url"), ...rest].join(".");
    });
    expect(await verify(made)).toBeUndefined();
  });

  test.each(["", "x", "a.b.c", "a.b.c.d.e", "é.é.é", ".".repeat(1_000)])(
    "%j is refused",
    async (text) => {
      const { verify } = await local();
      expect(await verify(text)).toBeUndefined();
    },
  );

  test("signed by another key under a known kid is refused", async () => {
    const { verify } = await local();
    expect(await verify(await token(await pair("k1")))).toBeUndefined();
  });

  test("changed after it was signed is refused", async () => {
    const { key, verify } = await local();
    const [header, , signature] = (await token(key)).split(".");
    const [, claims] = (await token(key, { claims: { sub: "eve" } })).split(".");
    expect(await verify([header, claims, signature].join("."))).toBeUndefined();
  });

  test("has the required typ", async () => {
    const { key, verify } = await local({ typ: "at+jwt" });
    expect(await verify(await token(key))).toBeUndefined();
    expect(await verify(await token(key, { header: { typ: "at+jwt" } }))).toMatchObject({
      id: "bob",
    });
  });

  test("may be late or early by the skew, and not by more", async () => {
    const clock = new FakeClock(Date.now());
    const { key, verify } = await local({ clock, skewMs: 60_000 });
    const made = await token(key, { claims: { exp: Math.floor(clock.now() / 1000) } });
    clock.advance(50_000);
    expect(await verify(made)).toMatchObject({ id: "bob" });
    clock.advance(20_000);
    expect(await verify(made)).toBeUndefined();
  });
});

// CVE-2026-22817 and similar ones.
describe("algorithm confusion", () => {
  test("HS256 with the public RSA key as the secret is refused", async () => {
    const key = await pair("k1", "RS256");
    const { alg: _, ...anyAlg } = key.jwk;
    const secret = new TextEncoder().encode(await exportSPKI(key.publicKey));
    const forged = await token(key, { header: { alg: "HS256" }, key: secret });
    for (const algorithms of [undefined, ["RS256"], ["RS256", "HS256"]]) {
      const { verify } = await local(
        { keys: { keys: [anyAlg] }, ...(algorithms && { algorithms }) },
        key,
      );
      expect(await verify(forged)).toBeUndefined();
      expect(await verify(await token(key))).toMatchObject({ id: "bob" });
    }
  });

  test('"none" is refused, however it is written, and cannot be allowed', async () => {
    const { key, verify } = await local();
    const [, claims] = (await token(key)).split(".");
    for (const alg of ["none", "None", "NONE", ""]) {
      const header = Buffer.from(JSON.stringify({ alg, kid: "k1" })).toString("base64url");
      expect(await verify(`${header}.${claims}.`)).toBeUndefined();
    }
    await expect(local({ algorithms: ["none"] })).rejects.toThrow("none");
  });

  test("an algorithm that the key supports but the options do not allow is refused", async () => {
    const key = await pair("k1", "RS256");
    const { verify } = await local({ algorithms: ["PS256"] }, key);
    expect(await verify(await token(key))).toBeUndefined();
  });

  test("a key within the token is not used", async () => {
    const { verify } = await local();
    const evil = await pair("evil");
    const header = { jwk: evil.jwk, jku: "http://127.0.0.1:1/", kid: "k1" };
    expect(await verify(await token(evil, { header }))).toBeUndefined();
  });
});

describe("keys from a URL", () => {
  test("are fetched once, and again when an unknown one appears", async () => {
    const [first, second] = await Promise.all([pair("k1"), pair("k2")]);
    await using jwks = await endpoint([first.jwk]);
    const verify = jwt({ issuer, audience, jwksUrl: jwks.url, cooldownMs: 0 });
    for (let i = 0; i < 5; i++) {
      expect(await verify(await token(first))).toMatchObject({ id: "bob" });
    }
    expect(jwks.state.asked).toBe(1);
    jwks.state.keys = [first.jwk, second.jwk];
    expect(await verify(await token(second))).toMatchObject({ id: "bob" });
    expect(jwks.state.asked).toBe(2);
    // The old one is retired.
    jwks.state.keys = [second.jwk];
    expect(await verify(await token(await pair("k3")))).toBeUndefined();
    expect(await verify(await token(first))).toBeUndefined();
  });

  test("unknown keys do not cause repeated fetches", async () => {
    const key = await pair("k1");
    await using jwks = await endpoint([key.jwk]);
    const verify = jwt({ issuer, audience, jwksUrl: jwks.url });
    expect(await verify(await token(key))).toMatchObject({ id: "bob" });
    const foreign = await pair("foreign");
    for (let i = 0; i < 10; i++) expect(await verify(await token(foreign))).toBeUndefined();
    expect(jwks.state.asked).toBe(1);
  });

  test("that cannot be fetched are not the caller's fault", async () => {
    const key = await pair("k1");
    await using jwks = await endpoint([key.jwk]);
    jwks.state.status = 500;
    const verify = jwt({ issuer, audience, jwksUrl: jwks.url, cooldownMs: 0 });
    await expect(verify(await token(key))).rejects.toThrow();
    jwks.state.status = 200;
    expect(await verify(await token(key))).toMatchObject({ id: "bob" });
  });

  test("must come over https, unless from this machine", () => {
    expect(() => jwt({ issuer, audience, jwksUrl: "http://issuer.example/jwks" })).toThrow("https");
    expect(() => jwt({ issuer, audience })).toThrow("either");
  });
});

test.each([[""], [[]], [undefined]])(
  "tokens of any issuer, or for anybody, cannot be asked for by %j",
  (any) => {
    const none = any as string;
    const keys = { keys: [] };
    expect(() => jwt({ issuer: none, audience, keys })).toThrow("an issuer and an audience");
    expect(() => jwt({ issuer, audience: none, keys })).toThrow("an issuer and an audience");
  },
);

test("a challenge says where to get tokens", () => {
  expect(oauthChallenge()).toBe("Bearer");
  expect(
    oauthChallenge({
      realm: 'a "b"\r\nx: y',
      scopes: ["read", "write"],
      error: "insufficient_scope",
      resourceMetadata: "https://api.example/.well-known/oauth-protected-resource",
    }),
  ).toBe(
    'Bearer realm="a \\"b\\"??x: y", error="insufficient_scope", scope="read write", ' +
      'resource_metadata="https://api.example/.well-known/oauth-protected-resource"',
  );
});

describe("a shared secret", () => {
  const secret = "0123456789abcdef0123456789abcdef";
  const signed = (by: string, alg = "HS256"): Promise<string> =>
    new SignJWT({ iss: issuer, aud: audience, sub: "bob" })
      .setProtectedHeader({ alg })
      .setExpirationTime("5m")
      .sign(new TextEncoder().encode(by));

  test("verifies tokens that were signed with it", async () => {
    const token = await signed(secret);
    expect(await jwt({ issuer, audience, secret })(token)).toMatchObject({ id: "bob" });
    const bytes = new TextEncoder().encode(secret);
    expect(await jwt({ issuer, audience, secret: bytes })(token)).toMatchObject({ id: "bob" });
    // As the TextEncoder of Node makes them in jsdom.
    const foreign: Uint8Array = runInNewContext("Uint8Array.from(bytes)", { bytes });
    expect(await jwt({ issuer, audience, secret: foreign })(token)).toMatchObject({ id: "bob" });
    expect(await jwt({ issuer, audience, secret })(await signed(`${secret}!`))).toBeUndefined();
  });

  test("can be replaced by another while both are accepted", async () => {
    const next = "fedcba9876543210fedcba9876543210";
    const verify = jwt({ issuer, audience, secret: [next, secret] });
    for (const by of [next, secret]) {
      expect(await verify(await signed(by))).toMatchObject({ id: "bob" });
    }
    expect(await verify(await signed(`${secret}!`))).toBeUndefined();
  });

  test("is used with the listed algorithms only", async () => {
    const long = secret + secret;
    const verify = jwt({ issuer, audience, secret: long, algorithms: ["HS512"] });
    expect(await verify(await signed(long, "HS512"))).toMatchObject({ id: "bob" });
    expect(await verify(await signed(long))).toBeUndefined();
  });

  test("that can be guessed, or is for other algorithms, is refused at once", () => {
    const make = (more: Partial<JwtOptions>) => () => jwt({ issuer, audience, ...more });
    expect(make({ secret: "hunter2" })).toThrow(
      '"secret" must have at least 32 bytes, not 7 bytes',
    );
    expect(make({ secret, algorithms: ["HS512"] })).toThrow("at least 64 bytes");
    expect(make({ secret, algorithms: ["HS256", "RS256"] })).toThrow("HS256, HS384 or HS512");
    expect(make({ secret: [] })).toThrow('"secret" must not be an empty array');
    const oct = { kty: "oct", k: Buffer.from(secret).toString("base64url") };
    expect(make({ algorithms: ["HS256"], keys: { keys: [oct] } })).toThrow('as "secret"');
    expect(make({ secret, keys: { keys: [] } })).toThrow("either keys, jwksUrl or secret");
  });

  test("why a token is refused is logged at level debug, and not sent", async () => {
    const log = new RecordingLog();
    const use = [authenticate(bearer(jwt({ issuer, audience, secret })))];
    const http = await serve({ echo: (value: unknown) => value }, {}, { use, log });
    const authorization = `Bearer ${await signed(`${secret}!`)}`;
    const body = '{"jsonrpc":"2.0","method":"echo","params":[1],"id":1}';
    const { status, text } = await send(http.port, { headers: { ...json, authorization }, body });
    expect(status).toBe(401);
    expect(text).not.toContain("signature");
    const reason = "the token is not valid: signature verification failed";
    expect(log.entries).toEqual([
      { level: "debug", message: "credential refused", fields: { method: "echo", reason } },
    ]);
    await expect(connectWebSocket(http.url, { headers: { authorization } })).rejects.toMatchObject({
      status: 401,
    });
    expect(log.entries[1]).toMatchObject({
      level: "debug",
      message: "connection refused",
      fields: { transport: "websocket", reason },
    });
  });
});
