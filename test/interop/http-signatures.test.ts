import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign,
  timingSafeEqual,
  verify,
} from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import { createClient, createServer } from "callwire";
import { httpLink } from "callwire/http";
import { serveHttp } from "callwire/http/node";
import { authenticate } from "callwire/security";
import {
  canonicalJson,
  contentDigest,
  createSigningKey,
  httpSigner,
  type SigningKey,
  signedRequests,
} from "callwire/security/signing";
import canonicalize from "canonicalize";
import fc from "fast-check";
import {
  component,
  createSignature,
  type RequestDescriptor,
  type ResponseDescriptor,
  type Signer,
  type Verifier,
  verifySignature,
} from "http-message-sig";
import {
  type InnerList,
  parseDictionary as parseTheirs,
  serializeInnerList,
} from "structured-headers";
import { expect, test } from "vitest";
import {
  innerListText,
  isInnerList,
  itemText,
  parseDictionary,
} from "../../src/security/signing/structured-fields.ts";
import { whoami } from "../security/whoami.ts";
import { describeWith } from "../services.ts";

const secret = Buffer.alloc(32, 7);
const hmac: SigningKey = { kid: "hmac-1", alg: "hmac-sha256", key: secret };
const pair = createSigningKey("ed25519", "ed-1");

/** The same keys as that package takes them. */
const peers: Record<
  string,
  { signing: SigningKey; verifying: SigningKey; peer: Signer & Verifier }
> = {
  "hmac-sha256": {
    signing: hmac,
    verifying: hmac,
    peer: {
      algorithm: "hmac-sha256",
      sign: (data) => createHmac("sha256", secret).update(data).digest(),
      verify: (data, signature) =>
        timingSafeEqual(createHmac("sha256", secret).update(data).digest(), signature),
    },
  },
  ed25519: {
    signing: pair.signer,
    verifying: pair.verifier,
    peer: {
      algorithm: "ed25519",
      sign: (data) => sign(null, data, createPrivateKey(pair.signer.key as string)),
      verify: (data, signature) =>
        verify(null, data, createPublicKey(pair.verifier.key as string), signature),
    },
  },
};

const covered = ["@method", "@authority", "@path", "content-type", "content-digest"];

function fieldsOf(headers: Iterable<[string, string]>) {
  return Array.from(headers, ([name, value]) => ({ name, value }));
}

describeWith(["npm peers"], "http-message-sig", () => {
  test.each(Object.keys(peers))("verifies what our client sends, %s", async (alg) => {
    const { signing, peer } = peers[alg] as (typeof peers)[string];
    let request: RequestDescriptor | undefined;
    const server = createHttpServer((incoming, response) => {
      request = {
        kind: "request",
        method: incoming.method ?? "",
        targetUri: `http://${incoming.headers.host}${incoming.url}`,
        fields: fieldsOf(Object.entries(incoming.headers) as [string, string][]),
      };
      incoming.resume().on("end", () => {
        response.setHeader("content-type", "application/json");
        response.end('{"jsonrpc":"2.0","result":1,"id":1}');
      });
    }).listen(0, "127.0.0.1");
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { port: number };
    for (const path of ["/rpc", "/rpc?a=%20b"]) {
      const link = httpLink(`http://127.0.0.1:${port}${path}`, {
        signer: httpSigner({ key: signing }),
      });
      await createClient(link)
        .call("add", [1])
        .catch(() => {});
      const verified = await verifySignature(request as RequestDescriptor, {
        policy: {
          algorithms: [alg],
          requiredComponents: path.includes("?") ? [...covered, "@query"] : covered,
          requiredParameters: ["created", "expires", "nonce", "keyid"],
          maxAge: 60,
          clockSkew: 5,
        },
        resolveVerifier: () => peer,
      });
      expect(verified.parameters.keyid).toBe(signing.kid);
      await link.close();
    }
    server.closeAllConnections();
    server.close();
  });

  test.each(Object.keys(peers))(
    "signs what our server verifies, and verifies its reply, %s",
    async (alg) => {
      const { signing, verifying, peer } = peers[alg] as (typeof peers)[string];
      const credential = signedRequests({ keys: [verifying], replyKey: signing });
      const server = createServer(whoami().methods, { use: [authenticate(credential)] });
      const http = await serveHttp(server, { port: 0 });
      const body = '{"jsonrpc":"2.0","method":"whoami","id":1}';
      const headers = new Headers({
        "content-type": "application/json",
        "content-digest": contentDigest(body),
      });
      const unsigned: RequestDescriptor = {
        kind: "request",
        method: "POST",
        targetUri: http.url,
        fields: fieldsOf(headers),
      };
      const fields = await createSignature(unsigned, {
        label: "sig1",
        components: covered,
        parameters: {
          created: Math.floor(Date.now() / 1000),
          keyid: signing.kid,
          alg,
          nonce: 'n "quoted" \\',
        },
        signer: peer,
      });
      headers.set("signature", fields.signature);
      headers.set("signature-input", fields.signatureInput);
      const response = await fetch(http.url, { method: "POST", headers, body });
      expect(await response.json()).toMatchObject({ result: signing.kid });
      const reply: ResponseDescriptor = {
        kind: "response",
        status: response.status,
        fields: fieldsOf(response.headers),
        request: { ...unsigned, fields: fieldsOf(headers) },
      };
      const verified = await verifySignature(reply, {
        policy: {
          algorithms: [alg],
          requiredComponents: [
            "@status",
            "content-digest",
            component("signature", { key: "sig1", req: true }),
          ],
          requiredParameters: ["created", "keyid"],
        },
        resolveVerifier: () => peer,
      });
      expect(verified.label).toBe("callwire");
      await server.close();
    },
  );
});

describeWith(["npm peers"], "structured-headers", () => {
  const piece = fc.constantFrom(
    ...'abz09*_-.;=,:"\\() \t?1',
    '"@method"',
    ";created=1618884473",
    'sig1=("a" "b";req)',
    ":AAAA:",
    "?1",
    ";k=?0",
    '"q\\""',
    "token",
    "-42",
  );

  test("reads what we read, and writes it the same", () => {
    let accepted = 0;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = pieces.join("");
        const ours = parseDictionary(text);
        if (ours === undefined) return;
        const theirs = parseTheirs(text);
        accepted++;
        expect([...ours.keys()]).toEqual([...theirs.keys()]);
        for (const [name, member] of ours) {
          const other = theirs.get(name);
          if (isInnerList(member)) {
            expect(innerListText(member)).toBe(serializeInnerList(other as InnerList));
          } else expect(typeof itemText(member)).toBe("string");
        }
      }),
      { numRuns: 20_000, examples: [[["a", "=", ":", "a", ":"]]] },
    );
    expect(accepted).toBeGreaterThan(100);
  });

  test("signature headers of the standard are read", () => {
    const input =
      'sig-b21=();created=1618884473;keyid="test-key-rsa-pss";nonce="b3k2pp5k7z-50gnwp.yemd"';
    const member = parseDictionary(input)?.get("sig-b21");
    expect(isInnerList(member) && innerListText(member)).toBe(input.slice("sig-b21=".length));
  });
});

describeWith(["npm peers"], "canonicalize", () => {
  test("writes the same as we do", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(canonicalJson(value)).toBe(canonicalize(value));
      }),
      { numRuns: 5_000 },
    );
    const numbers = [0, -0, 1e21, 1e-7, 333333333.3333333, 4.5, 2e-3, 1e-27, Number.MAX_VALUE];
    expect(canonicalJson(numbers)).toBe(canonicalize(numbers));
    const names = { "\u20ac": 1, "\r": 2, "\ufb33": 3, "1": 4, "\u{1f600}": 5, "\u0080": 6, ö: 7 };
    expect(canonicalJson(names)).toBe(canonicalize(names));
  });

  test("refuses malformed signatures", () => {
    for (const value of ["\ud800", { "\udc00": 1 }, Number.NaN, 1n, undefined, () => 1]) {
      expect(() => canonicalJson(value)).toThrow(TypeError);
    }
  });
});
