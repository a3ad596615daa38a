import { createHmac, generateKeyPairSync } from "node:crypto";
import {
  canonicalJson,
  createSigningKey,
  type SignedMessagesOptions,
  signedMessages,
} from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { isValidDetached, parseDetached, signDetached } from "../../../src/security/signing/jws.ts";
import { Key } from "../../../src/security/signing/key.ts";
import * as refusals from "../../../src/security/signing/signature-errors.ts";
import {
  innerListText,
  isInnerList,
  itemText,
  parseDictionary,
  Token,
} from "../../../src/security/signing/structured-fields.ts";

describe("structured fields", () => {
  const parsed = (text: string) => Object.fromEntries(parseDictionary(text) ?? []);
  const written = (text: string) =>
    [...(parseDictionary(text) ?? [])].map(([name, member]) =>
      isInnerList(member) ? `${name}=${innerListText(member)}` : `${name}=${itemText(member)}`,
    );

  test.each([
    'a="x"',
    'a="say \\"hi\\" \\\\ there"',
    "a=5",
    "a=-5",
    "a=9",
    "a=0",
    "a=123456789012345",
    "a=?1",
    "a=?0",
    "a=:YWJj:",
    "a=token",
    "a=*t/o:k~en",
    "a=()",
    'a=("x" "y";req);created=1;keyid="k"',
    "a=1;b;c=?0;d=t",
  ])("%s is written as it was read", (text) => {
    expect(written(text)).toEqual([text]);
  });

  test("have members, flags and parameters, with spaces between", () => {
    expect(written("  a=1 ,\tb=2,c ,d;e;  f=3  ")).toEqual(["a=1", "b=2", "c=?1", "d=?1;e;f=3"]);
    expect(written('a=( "x"   "y" )')).toEqual(['a=("x" "y")']);
    expect(parsed("a=:YWI:")["a"]).toMatchObject({ value: Buffer.from("ab") });
    expect(parsed("a=tok")["a"]).toMatchObject({ value: new Token("tok") });
    expect(parsed("a;x=?1")["a"]).toEqual({ value: true, parameters: new Map([["x", true]]) });
    for (const empty of ["", "   "]) expect(parseDictionary(empty)?.size).toBe(0);
    expect(isInnerList(undefined)).toBe(false);
  });

  test.each([
    "a=1,",
    "a=1, ",
    "a=1 b=2",
    "a=1;b=1;b=2",
    "a=1,a=2",
    "A=1",
    "=1",
    "a=",
    'a="x',
    'a="\\x"',
    'a="é"',
    "a=:YWJj",
    "a=:Y:",
    "a=?2",
    "a=?",
    "a=1.5",
    "a=1234567890123456",
    "a=-",
    "a=.5",
    "a=:",
    "a=(",
    'a=("x"',
    'a=("x""y")',
    "a=1;",
    "\ta=1",
  ])("%s is malformed", (text) => {
    expect(parseDictionary(text)).toBeUndefined();
  });
});

describe("canonical JSON", () => {
  test.each([
    [{ b: 1, a: [2.0, null, undefined, () => {}], c: undefined }, '{"a":[2,null,null,null],"b":1}'],
    [{ "\u20ac": 1, "\r": 2, "1": 3 }, '{"\\r":2,"1":3,"€":1}'],
    [[true, false, "é\n", 1e21, -0], '[true,false,"é\\n",1e+21,0]'],
    [null, "null"],
    [new Date(0), '"1970-01-01T00:00:00.000Z"'],
    [{}, "{}"],
  ])("%j", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("does not write what JSON cannot hold", () => {
    expect(() => canonicalJson(undefined)).toThrow("the value cannot be written as JSON");
    expect(() => canonicalJson([Number.NaN])).toThrow("NaN cannot be written as JSON");
    expect(() => canonicalJson({ a: 5n })).toThrow("a BigInt cannot be written as JSON");
    for (const lone of ["\ud800", { "\udc00": 1 }]) {
      expect(() => canonicalJson(lone)).toThrow(
        "a string has a lone surrogate, which canonical JSON does not allow",
      );
    }
  });
});

describe("a detached JWS", () => {
  const key = new Key(createSigningKey("hmac-sha256", "k").signer);
  const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

  test("is parsed if its header is an object, and it is not too long", () => {
    const jws = signDetached(key, { iat: 1 }, "payload");
    expect(parseDetached(jws)?.header).toMatchObject({ alg: "HS256", kid: "k", iat: 1 });
    for (const header of [5, "x", null, []]) {
      expect(parseDetached(`${encoded(header)}..YWJj`)).toBeUndefined();
    }
    const wrong = [
      "",
      "a.b",
      "..",
      "a..",
      "..b",
      "a.b.c",
      `${jws}=`,
      ` ${jws}`,
      "!!..b",
      "YWJj..b",
    ];
    for (const text of wrong) expect(parseDetached(text)).toBeUndefined();
    const header = encoded({});
    const filled = (length: number) => `${header}..${"a".repeat(length - header.length - 2)}`;
    expect(parseDetached(filled(4_096))).toBeDefined();
    expect(parseDetached(filled(4_097))).toBeUndefined();
  });
});

test("a JWS of Ed25519 has its first name, and may have its later one", () => {
  const { signer, verifier } = createSigningKey("ed25519", "k");
  const isValid = (header: object) => {
    const signed = parseDetached(signDetached(new Key(signer), header, "text"));
    return signed !== undefined && isValidDetached(new Key(verifier), signed, "text");
  };
  expect(parseDetached(signDetached(new Key(signer), {}, "text"))?.header.alg).toBe("EdDSA");
  const names = ["EdDSA", "Ed25519", "HS256", "", undefined];
  expect(names.map((alg) => isValid({ alg }))).toEqual([true, true, false, false, false]);
});

describe("keys", () => {
  const secret = Buffer.alloc(32, 1);
  const of = (key: unknown, alg = "ed25519") => new Key({ kid: "k", alg, key } as never);

  test("are bytes, base64, PEM, JWK or objects of Node", () => {
    const signed = createHmac("sha256", secret).update("text").digest();
    for (const form of [secret, secret.toString("base64"), secret.toString("base64url")]) {
      expect(of(form, "hmac-sha256").sign("text")).toEqual(signed);
    }
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const pem = { type: "pkcs8", format: "pem" } as const;
    const signature = of(privateKey).sign("text");
    for (const form of [privateKey.export(pem), privateKey.export({ format: "jwk" })]) {
      expect(of(form).sign("text")).toEqual(signature);
    }
    const spki = publicKey.export({ type: "spki", format: "pem" });
    for (const form of [publicKey, spki, Buffer.from(spki), publicKey.export({ format: "jwk" })]) {
      expect(of(form).verify("text", signature)).toBe(true);
      expect(of(form).verify("other", signature)).toBe(false);
    }
  });

  test("of another kind, or too short, are refused", () => {
    const short = "the key k must be a secret of at least 32 bytes";
    for (const form of [secret.subarray(1), secret.subarray(1).toString("base64")]) {
      expect(() => of(form, "hmac-sha256")).toThrow(short);
    }
    const { privateKey } = generateKeyPairSync("ed25519");
    expect(() => of(privateKey, "hmac-sha256")).toThrow(short);
    for (const form of ["not base64!", { kty: "oct" }]) {
      expect(() => of(form, "hmac-sha256")).toThrow("the key k must be bytes or base64");
    }
    for (const form of ["no PEM", {}, { kty: "OKP", d: "x" }]) {
      expect(() => of(form)).toThrow("the key k must be a valid PEM or JWK");
    }
    const { publicKey: x25519 } = generateKeyPairSync("x25519");
    expect(() => of(x25519)).toThrow("the key k is not an Ed25519 key");
    expect(() => of(secret, "rs256")).toThrow(
      '"alg" of the key k must be "hmac-sha256" or "ed25519", not "rs256"',
    );
  });

  test("that are made have 32 random bytes and a name", () => {
    const { signer, verifier } = createSigningKey();
    expect(signer).toBe(verifier);
    expect(Buffer.from(signer.key as string, "base64url")).toHaveLength(32);
    expect(signer.kid).toMatch(/^sig_[\w-]{12}$/);
    for (const kid of ["", "a b", 'a"b', "a\\b", "é", "x".repeat(129)]) {
      expect(() => createSigningKey("hmac-sha256", kid)).toThrow(
        "a kid must have 1 to 128 visible ASCII characters, without quotes and backslashes",
      );
    }
    expect(createSigningKey("hmac-sha256", "x".repeat(128)).signer.kid).toHaveLength(128);
  });
});

test.each([
  ["signatureMissing", "signature-missing"],
  ["signatureInvalid", "signature-invalid"],
  ["signatureExpired", "signature-expired"],
  ["replayed", "replayed"],
  ["principalChanged", "principal-changed"],
])("%s tells callers the reason %s, and how to sign in", (name, reason) => {
  expect(Reflect.get(refusals, name)).toMatchObject({
    code: -32001,
    data: { reason },
    headers: { "www-authenticate": "Signature" },
  });
});

test("a store of nonces without room is the fault of the server, and says so", () => {
  const { code, reason } = refusals.noncesFull;
  expect([code, reason]).toEqual([-32005, "the store of nonces is full"]);
});

describe("the seal of a connection", () => {
  const ann = createSigningKey("hmac-sha256", "ann").signer;
  const bob = createSigningKey("hmac-sha256", "bob").signer;
  const host = createSigningKey("hmac-sha256", "host").signer;
  const clock = new FakeClock(Date.now());
  const call = '{"jsonrpc":"2.0","method":"m","id":1}';
  const reply = '{"jsonrpc":"2.0","result":1,"id":1}';
  const originOf = () => ({ transport: { kind: "tcp" }, principal: undefined }) as never;
  const sealOf = (options: SignedMessagesOptions) => signedMessages({ clock, ...options })();
  const hostOf = (more: SignedMessagesOptions = {}) =>
    sealOf({ key: host, keys: [ann, bob], ...more });
  const signedBy = (key: typeof ann, header: object, text: string) => {
    const full = { iat: Math.floor(clock.now() / 1000), ...header };
    const jws = signDetached(new Key(key), full, text);
    return JSON.stringify({ jws, msg: text });
  };
  const refused = (reason: string, message: string) => ({
    error: expect.objectContaining({ data: { reason } }),
    message,
  });

  test("signs for the peer that it knows, and accepts only its replies", () => {
    const origin = originOf();
    const near = sealOf({ key: ann, keys: [host] });
    const far = hostOf();
    expect([near.mayReply, far.mayReply]).toEqual([false, false]);
    expect(far.open(near.seal(call), origin)).toBe(call);
    expect([far.mayReply, origin]).toEqual([
      true,
      expect.objectContaining({ principal: { id: "ann" } }),
    ]);
    const answer = far.seal(reply);
    expect(sealOf({ key: ann, keys: [host] }).open(answer, originOf())).toEqual(
      refused("replayed", reply),
    );
    expect(near.open(answer, originOf())).toBe(reply);
    expect(near.open(answer, originOf())).toEqual(refused("replayed", reply));
    // A reply must name the connection for which it was signed.
    const unbound = signedBy(host, { sid: "s", seq: 0, nonce: "n1" }, reply);
    expect(sealOf({ key: ann, keys: [host] }).open(unbound, originOf())).toEqual(
      refused("signature-invalid", reply),
    );
  });

  test("refuses messages of another id, of an earlier number, or without one", () => {
    const far = hostOf();
    const origin = originOf();
    const to = (text: string) =>
      JSON.parse(Buffer.from(JSON.parse(text).jws.split(".")[0], "base64url").toString()).sid;
    const sid = to(far.seal("{}"));
    expect(far.open(signedBy(ann, { sid: "a", seq: 3, nonce: "n2" }, call), origin)).toBe(call);
    expect(far.open(signedBy(ann, { sid: "a", seq: 4, to: sid }, call), origin)).toBe(call);
    for (const header of [
      { sid: "a", seq: 4, to: sid },
      { sid: "a", seq: 2, to: sid },
      { sid: "a", to: sid },
      { sid: "b", seq: 9, to: sid },
      { sid: "a", seq: 9, to: "another" },
    ]) {
      expect(far.open(signedBy(ann, header, call), origin)).toEqual(refused("replayed", call));
    }
    expect(far.open(signedBy(ann, { sid: "a", seq: 9, to: sid, iat: 1 }, call), origin)).toEqual(
      refused("signature-expired", call),
    );
  });

  test("binds the connection to the first principal, also if both arrive while the store answers", async () => {
    const answers: (() => void)[] = [];
    const store = {
      take: () => new Promise<"new">((resolve) => answers.push(() => resolve("new"))),
    };
    const far = hostOf({ nonces: store } as never);
    const origin = originOf();
    const first = far.open(signedBy(ann, { sid: "a", seq: 0, nonce: "n3" }, call), origin);
    const second = far.open(signedBy(bob, { sid: "b", seq: 0, nonce: "n4" }, call), origin);
    for (const answer of answers) answer();
    expect(await first).toBe(call);
    expect(await second).toEqual(refused("principal-changed", call));
    const third = far.open(signedBy(bob, { sid: "a", seq: 1, nonce: "n5" }, call), origin);
    // It does not take the nonce of the other.
    expect([third, answers.length]).toEqual([refused("principal-changed", call), 2]);
  });

  test("remembers an id of at most 64 characters", () => {
    for (const [length, mayReply] of [
      [64, true],
      [65, false],
    ] as const) {
      const far = hostOf();
      const text = signedBy(ann, { sid: "a".repeat(length), seq: 0, nonce: `l${length}` }, call);
      expect(far.open(text, originOf())).toBe(call);
      expect(far.mayReply).toBe(mayReply);
    }
  });

  test("refuses its own messages, and those of unknown keys", () => {
    const far = hostOf({
      keys: (kid: string) => [ann, host].find((key) => key.kid === kid),
    } as never);
    const own = signedBy(host, { sid: "s", seq: 0, nonce: "n6" }, call);
    const unknown = signedBy(bob, { sid: "s", seq: 0, nonce: "n7" }, call);
    for (const text of [own, unknown, JSON.stringify({ jws: "x", msg: call })]) {
      expect(far.open(text, originOf())).toEqual(refused("signature-invalid", call));
    }
    expect(far.open(signedBy(ann, { sid: "s", seq: 0, nonce: "n8" }, call), originOf())).toBe(call);
  });

  test('passes unsigned messages only with unsigned: "pass", and only before signed ones', () => {
    for (const text of [call, '{"jws":"x"}', '{"msg":"x"}', '{"jws":1,"msg":"x"}', "debug", "[]"]) {
      expect(hostOf().open(text, originOf())).toEqual(refused("signature-missing", text));
      expect(hostOf({ unsigned: "pass" }).open(text, originOf())).toBe(text);
    }
    const signed = (seq: number) => signedBy(ann, { sid: "s", seq, nonce: `u${seq}` }, call);
    const mixed = hostOf({ unsigned: "pass" });
    expect([mixed.mayReply, mixed.seal(reply)]).toEqual([true, reply]);
    expect(mixed.open("debug output", originOf())).toBe("debug output");
    expect(mixed.open('{"level":"info"}', originOf())).toBe('{"level":"info"}');
    expect(mixed.open(signed(1), originOf())).toBe(call);
    expect(mixed.seal(reply)).not.toBe(reply);
    expect(mixed.open(call, originOf())).toEqual(refused("signature-missing", call));
    for (const text of [call, '{"method":"m"}', '{"jsonrpc":"2.0"}', "[]"]) {
      const unsigned = hostOf({ unsigned: "pass" });
      expect(unsigned.open(text, originOf())).toBe(text);
      expect(unsigned.open(signed(2), originOf())).toEqual(refused("principal-changed", call));
    }
  });

  test("needs keys, and not the same in both directions", () => {
    expect(() => signedMessages({})).toThrow(
      "signedMessages needs a key to sign with, or keys to verify with",
    );
    expect(() => signedMessages({ key: ann, keys: [ann] })).toThrow(
      "the key ann must not be used in both directions",
    );
    const { verifier } = createSigningKey("ed25519", "public");
    expect(() => signedMessages({ key: verifier })).toThrow("the key public cannot sign");
    // Without keys to verify with, messages are accepted as they are.
    const signing = sealOf({ key: ann });
    expect(signing.open(signedBy(bob, {}, call), originOf())).toBe(call);
    expect(signing.open(call, originOf())).toBe(call);
  });
});
