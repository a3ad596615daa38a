import { createHash } from "node:crypto";
import { createServer } from "callwire";
import {
  contentDigest,
  createSigningKey,
  httpSigner,
  refuseReplays,
  signedParams,
  signParams,
} from "callwire/security/signing";
import { FakeClock } from "callwire/testing";
import { describe, expect, test } from "vitest";
import { Freshness } from "../../../src/security/signing/freshness.ts";
import {
  arrivedRequest,
  component,
  covers,
  fitsContentDigest,
  leavingRequest,
  queryOf,
  signatureBase,
  signatureHeaders,
  signaturesOf,
} from "../../../src/security/signing/http-signature.ts";
import { Key } from "../../../src/security/signing/key.ts";

const record = createSigningKey("hmac-sha256", "k").signer;

describe("what a signature of a request covers", () => {
  const arrived = (target: string, headers: Record<string, string | string[]> = {}) =>
    arrivedRequest(
      { method: "POST", authority: "A.Example:80", target } as never,
      headers as never,
    );
  const baseOf = (message: ReturnType<typeof arrived>, ...items: ReturnType<typeof component>[]) =>
    signatureBase(message, { items, parameters: new Map([["created", 1]]) });

  test.each([
    ["/rpc", "/rpc", "?"],
    ["/rpc?a=1?b", "/rpc", "?a=1?b"],
    ["/?a", "/", "?a"],
    ["http://a.example/rpc?a", "/rpc", "?a"],
    ["HTTPS://a.example", "/", "?"],
    ["https://a.example?a", "/", "?a"],
    ["", "/", "?"],
  ])("%s has the path %s and the query %s", (target, path, query) => {
    const message = arrived(target);
    expect([message.derived("@path"), message.derived("@query")]).toEqual([path, query]);
    expect([message.derived("@method"), message.derived("@authority")]).toEqual([
      "POST",
      "a.example:80",
    ]);
    expect(message.derived("@other")).toBeUndefined();
    expect(queryOf(target)).toBe(query === "?" ? undefined : query);
  });

  test("is the same for the sender and the receiver", () => {
    const headers = { "content-type": "a/b" };
    const sent = leavingRequest("POST", "http://A.example:8080/rpc?x=1", headers);
    for (const [name, value] of [
      ["@authority", "a.example:8080"],
      ["@path", "/rpc"],
      ["@query", "?x=1"],
    ] as const) {
      expect(sent.derived(name)).toBe(value);
    }
    expect([sent.header("content-type"), sent.header("toString")]).toEqual(["a/b", undefined]);
  });

  test("has a line for each component, and one for the parameters", () => {
    const message = arrived("/rpc", {
      "x-a": "  1  ",
      "x-b": ["1", "2"],
      "x-d": 'a="x";p, b=(1 2)',
    });
    const items = [
      component("@method"),
      component("x-a"),
      component("x-b"),
      component("x-d", [["key", "a"]]),
      component("x-d", [["key", "b"]]),
    ];
    expect(baseOf(message, ...items)).toBe(
      [
        '"@method": POST',
        '"x-a": 1',
        '"x-b": 1, 2',
        '"x-d";key="a": "x";p',
        '"x-d";key="b": (1 2)',
        '"@signature-params": ("@method" "x-a" "x-b" "x-d";key="a" "x-d";key="b");created=1',
      ].join("\n"),
    );
  });

  test.each([
    ["a missing header", component("x-missing")],
    ["a name of every object", component("constructor")],
    ["an unknown part", component("@status")],
    ["a missing member", component("x-d", [["key", "c"]])],
    ["a member of what is not a dictionary", component("x-e", [["key", "a"]])],
    ["a member of a part", component("@method", [["key", "a"]])],
    ["an unknown parameter", component("x-d", [["bs", true]])],
    ["a parameter of another type", component("x-d", [["key", 1]])],
    ["a switched off parameter", component("x-d", [["req", false]])],
    ["another parameter that is on", component("x-d", [["sf", true]])],
    ["a request that is not known", component("x-d", [["req", true]])],
    ["a number", { value: 5, parameters: new Map() }],
  ])("is not known with %s", (_, item) => {
    expect(baseOf(arrived("/", { "x-d": "a=1", "x-e": "=" }), item)).toBeUndefined();
  });

  test("of a reply may have components of the request, if their parameters say just that", () => {
    const reply = { ...arrived("/", { x: "a=1" }), request: arrived("/", { x: "a=2" }) };
    const inRequest: [string, string | boolean] = ["req", true];
    expect(baseOf(reply, component("x", [["key", "a"], inRequest]))).toContain(
      '"x";key="a";req: 2\n',
    );
    for (const parameter of [
      ["sf", true],
      ["req", false],
      ["req", "a"],
      ["sf", "a"],
    ] as const) {
      expect(baseOf(reply, component("x", [[...parameter]]))).toBeUndefined();
    }
  });

  test("has each component once, and at most 32", () => {
    const message = arrived(
      "/",
      Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`x-${i}`, "1"])),
    );
    const items = Array.from({ length: 33 }, (_, i) => component(`x-${i}`));
    expect(baseOf(message, ...items.slice(1))).toBeDefined();
    expect(baseOf(message, ...items)).toBeUndefined();
    expect(baseOf(message, component("x-1"), component("x-1"))).toBeUndefined();
    const input = {
      items: [component("x-1"), component("x-2", [["req", true]])],
      parameters: new Map(),
    };
    expect([covers(input, "x-1"), covers(input, "x-2"), covers(input, "x-3")]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("cannot be written without all components", () => {
    expect(() =>
      signatureHeaders(arrived("/"), new Key(record), [component("x")], new Map()),
    ).toThrow("the message lacks a component that must be signed");
    const headers = signatureHeaders(
      arrived("/"),
      new Key(record),
      [component("@path")],
      new Map(),
    );
    expect(headers["signature-input"]).toBe('callwire=("@path");keyid="k"');
    expect(headers.signature).toMatch(/^callwire=:[\w+/]{43}=:$/);
  });
});

describe("the signatures of a message", () => {
  const of = (input?: string, signature?: string) =>
    signaturesOf({
      derived: () => undefined,
      header: (name) =>
        name === "signature" ? signature : name === "signature-input" ? input : undefined,
    });
  const several = (count: number, text: string) =>
    Array.from({ length: count }, (_, i) => `s${i}=${text}`).join(", ");

  test("are at most four, each with its input", () => {
    expect(of()).toEqual([]);
    const [found] = of('a=();keyid="k"', "a=:YWJj:, b=1") ?? [];
    expect(found).toMatchObject({ label: "a", signature: Buffer.from("abc") });
    expect(of(several(4, "()"), several(4, "::"))).toHaveLength(4);
    expect(of(several(5, "()"), several(5, "::"))).toBeUndefined();
  });

  test.each([
    ["a=()", "b=:YWJj:"],
    ["a=1", "a=:YWJj:"],
    ["a=()", "a=(:YWJj:)"],
    ["a=()", 'a="YWJj"'],
    ["a=(", "a=:YWJj:"],
    ["a=()", "a=:YWJj"],
  ])("are malformed with %s and %s", (input, signature) => {
    expect(of(input, signature)).toBeUndefined();
  });
});

test("a digest fits its body if all known ones do, and there is one", () => {
  const digest = contentDigest("body");
  const known = createHash("sha256").update("body").digest("base64");
  expect(digest).toBe(`sha-256=:${known}:`);
  expect(fitsContentDigest("body", digest)).toBe(true);
  expect(fitsContentDigest("other", digest)).toBe(false);
  expect(fitsContentDigest("body", `md5=:YWJj:, ${digest}`)).toBe(true);
  for (const header of [
    "",
    "md5=:YWJj:",
    `${digest}, sha-512=:YWJj:`,
    'sha-256="x"',
    'sha-256="as long as 32 bytes of a digest."',
    "=",
    "sha-256=()",
    "sha-256=::",
  ]) {
    expect(fitsContentDigest("body", header)).toBe(false);
  }
});

describe("the time of a signed message", () => {
  const clock = new FakeClock(1_000_000_000);
  const freshness = new Freshness({ clock });
  const seconds = clock.now() / 1_000;
  const reasonOf = (refusal: unknown) =>
    (refusal as { data?: { reason: string } } | undefined)?.data?.reason;

  test.each([
    [seconds, undefined, undefined],
    [seconds - 60, undefined, undefined],
    [seconds + 60, undefined, undefined],
    [seconds - 60.001, undefined, "signature-expired"],
    [seconds + 60.001, undefined, "signature-expired"],
    [seconds, seconds + 0.001, undefined],
    [seconds, seconds, "signature-expired"],
    [`${seconds}`, undefined, "signature-invalid"],
    [Number.NaN, undefined, "signature-invalid"],
    [seconds, "x", "signature-invalid"],
    [seconds, Number.POSITIVE_INFINITY, "signature-invalid"],
  ])("%s, to %s: %s", (created, expires, reason) => {
    expect(reasonOf(freshness.refuseTime(created, expires))).toBe(reason);
  });

  test("needs a nonce that is new, of an owner", async () => {
    const taken: object[] = [];
    const nonces = {
      take(nonce: object) {
        taken.push(nonce);
        return Promise.resolve("new" as const);
      },
    };
    const asking = new Freshness({ clock, nonces });
    expect(await asking.refuse("ann", { created: seconds, nonce: "n" })).toBeUndefined();
    expect(taken).toEqual([
      { owner: "ann", value: "n", createdAt: clock.now(), expiresAt: clock.now() + 60_000 },
    ]);
    const longest = "x".repeat(128);
    expect(await asking.refuse("ann", { created: seconds, nonce: longest })).toBeUndefined();
    for (const nonce of [undefined, 5, "", `${longest}x`]) {
      expect(reasonOf(await asking.refuse("ann", { created: seconds, nonce }))).toBe(
        "signature-invalid",
      );
    }
    for (const [verdict, reason] of [
      ["seen", "replayed"],
      ["full", "busy"],
    ] as const) {
      const store = new Freshness({ clock, nonces: { take: () => verdict } as never });
      const refusal = store.refuse("ann", { created: seconds, nonce: "n" });
      expect(refusal).toBeDefined();
      expect(reasonOf(refusal)).toBe(reason);
    }
    expect(() => new Freshness({ skewMs: 0 })).toThrow("skewMs must be a number of at least 1");
  });
});

test("params are checked with stores that take their time", async () => {
  const clock = new FakeClock(1_000_000_000);
  let verdict: "new" | "seen" = "new";
  const nonces = { take: () => Promise.resolve(verdict) } as never;
  const options = { clock, nonces };
  const replies: unknown[] = [];
  for (const middleware of [signedParams({ keys: [record], ...options }), refuseReplays(options)]) {
    const server = createServer(
      { echo: (params: { a: number }) => params.a },
      { use: [middleware] },
    );
    const signing = signParams({ key: record, clock });
    const call = async (): Promise<void> => {
      const sent: unknown[] = [];
      const send = signing((request) => {
        sent.push(request);
        return undefined;
      });
      await send({ jsonrpc: "2.0", method: "echo", params: { a: 5 }, id: 1 }, {} as never);
      const reply = JSON.parse((await server.receive(JSON.stringify(sent[0]))) as string);
      replies.push(reply.result ?? reply.error.data.reason);
    };
    verdict = "new";
    await call();
    verdict = "seen";
    await call();
    for (const params of [{ timestamp: 1 }, { nonce: "n" }, [1], {}]) {
      const text = JSON.stringify({ jsonrpc: "2.0", method: "echo", params, id: 1 });
      const reply = JSON.parse((await server.receive(text)) as string);
      expect(reply.error.data.reason).toBe("signature-missing");
    }
  }
  expect(replies).toEqual([5, "replayed", 5, "replayed"]);
});

describe("the reply to a signed request", () => {
  const clock = new FakeClock(1_000_000_000);
  const host = createSigningKey("hmac-sha256", "host").signer;
  const signer = httpSigner({ key: record, replyKeys: [host], clock });
  const headers = { "content-type": "application/json" };
  const request = { method: "POST", url: "http://a.example/rpc", headers, body: "{}" };
  const bound: [string, string | true][] = [
    ["key", "callwire"],
    ["req", true],
  ];
  const all = [component("@status"), component("content-digest"), component("signature", bound)];

  async function faultOf(
    change: {
      items?: ReturnType<typeof component>[];
      created?: number;
      body?: string;
      status?: number;
      unsigned?: boolean;
      headers?: Record<string, string>;
    },
    { sign, check } = signer,
  ): Promise<unknown> {
    const sent = await sign(request);
    const { items = all, created = clock.now() / 1_000, status = 200 } = change;
    const digest = contentDigest("5");
    const header = (name: string) => (name === "content-digest" ? digest : undefined);
    const message = {
      header,
      derived: () => "200",
      request: { derived: () => undefined, header: (name: string) => sent[name] },
    };
    const signed: Record<string, string> = change.unsigned
      ? {}
      : {
          ...signatureHeaders(message, new Key(host), items, new Map([["created", created]])),
          ...change.headers,
        };
    const reply = {
      status,
      body: change.body ?? "5",
      header: (name: string) => signed[name] ?? header(name),
    };
    try {
      await check?.(reply, sent);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  test("is trusted if its signature covers it and the request", async () => {
    expect(await faultOf({})).toBeUndefined();
    expect(await faultOf({ created: clock.now() / 1_000 - 60 })).toBeUndefined();
  });

  const invalid = "the signature of the reply is not valid";
  const unsigned = "the reply is not signed";
  test.each([
    ["an old one", { created: 1 }, "the signature of the reply has expired"],
    ["one without a time", { created: "now" as never }, "the signature of the reply has expired"],
    ["another body", { body: "6" }, invalid],
    ["another status", { status: 201 }, invalid],
    ["one that covers no status", { items: all.slice(1) }, invalid],
    ["one that covers no body", { items: [all[0], all[2]] as never }, invalid],
    ["one that covers what only requests have", { items: [...all, component("@method")] }, invalid],
    ["one for any request", { items: all.slice(0, 2) }, invalid],
    [
      "one for another signature",
      { items: [...all.slice(0, 2), component("signature-input", bound)] },
      invalid,
    ],
    [
      "one for all signatures",
      { items: [...all.slice(0, 2), component("signature", [["req", true]])] },
      invalid,
    ],
    ["an unsigned one", { unsigned: true }, unsigned],
    ["one without a key", { headers: { "signature-input": "callwire=()" } }, unsigned],
    ["a malformed one", { headers: { "signature-input": "=" } }, unsigned],
    ["an unsigned redirect", { unsigned: true, status: 399 }, unsigned],
    [
      "an unsigned error",
      { unsigned: true, status: 400 },
      "the server replied with status 400, without a signature",
    ],
  ])("is not trusted: %s", async (_, change, fault) => {
    expect(await faultOf(change)).toBe(fault);
  });

  test("is not checked without keys", () => {
    expect(httpSigner({ key: record }).check).toBeUndefined();
  });

  test("is of now by the clock of the client, as far as that may be wrong", async () => {
    const own = { key: record, replyKeys: [host], clock };
    const created = clock.now() / 1_000 - 30;
    expect(await faultOf({ created }, httpSigner(own))).toBeUndefined();
    expect(await faultOf({ created }, httpSigner({ ...own, skewMs: 29_000 }))).toBe(
      "the signature of the reply has expired",
    );
  });

  test("may be signed with a key that has to be looked up, or is not known", async () => {
    const signer = (found: typeof host | undefined) =>
      httpSigner({ key: record, replyKeys: async () => found, clock });
    expect(await faultOf({}, signer(host))).toBeUndefined();
    expect(await faultOf({}, signer(undefined))).toBe(invalid);
  });

  test("follows a request that is valid for a minute, and names its query", async () => {
    const { sign } = signer;
    const { "signature-input": input = "" } = await sign({ ...request, url: `${request.url}?a` });
    expect(input).toMatch(
      /^callwire=\("@method" "@authority" "@path" "content-type" "content-digest" "@query"\);created=1000000;expires=1000060;nonce="[\w-]{22}";keyid="k"$/,
    );
    expect((await sign(request))["signature-input"]).not.toContain("@query");
  });
});

test("a key is valid from its first moment to before its last", () => {
  const key = new Key({ ...record, notBefore: new Date(10), notAfter: "1970-01-01T00:00:00.020Z" });
  expect([9, 10, 19, 20].map((now) => key.isValidAt(now))).toEqual([false, true, true, false]);
  expect(new Key(record).isValidAt(0)).toBe(true);
  expect(new Key(record).principal).toEqual({ id: "k" });
  expect(() => new Key({ ...record, notAfter: "soon" })).toThrow('"soon" is not a valid date');
  const { verifier } = createSigningKey("ed25519", "public");
  expect(() => new Key(verifier).sign("text")).toThrow(
    "the key public cannot sign: it is not a private key",
  );
});
