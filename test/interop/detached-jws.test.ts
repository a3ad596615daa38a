import { connect } from "node:net";
import { createServer } from "callwire";
import { newlineFraming } from "callwire/framing";
import { createSigningKey, type SigningKey, signedMessages } from "callwire/security/signing";
import { serveSocket } from "callwire/tcp";
import { FlattenedSign, flattenedVerify, importPKCS8, importSPKI } from "jose";
import { expect, test } from "vitest";
import { whoami } from "../security/whoami.ts";
import { rawStream } from "../transports/contract.ts";

// jose reads what we sign, and signs what we read.

type JoseKey = Parameters<FlattenedSign["sign"]>[0];

const bytes = (text: string) => new TextEncoder().encode(text);

async function keysOf(record: { signer: SigningKey; verifier: SigningKey }) {
  if (record.signer.alg === "ed25519") {
    return {
      private: await importPKCS8(record.signer.key as string, "EdDSA"),
      public: await importSPKI(record.verifier.key as string, "EdDSA"),
    };
  }
  const secret: JoseKey = Buffer.from(record.signer.key as string, "base64url");
  return { private: secret, public: secret };
}

test.each([
  ["hmac-sha256", "HS256"],
  ["ed25519", "EdDSA"],
] as const)("jose verifies and signs messages, %s", async (alg, name) => {
  const own = createSigningKey(alg, "server-1");
  const other = createSigningKey(alg, "client-1");
  const seal = signedMessages({ key: own.signer, keys: [other.verifier] });
  const server = createServer(whoami().methods, { seal });
  const { port } = await serveSocket(server, { port: 0 });
  const end = rawStream(connect(port as number, "127.0.0.1"), newlineFraming);
  const msg = '{"jsonrpc":"2.0","method":"whoami","id":1}';
  const signed = await new FlattenedSign(bytes(msg))
    .setProtectedHeader({
      alg: name,
      kid: "client-1",
      b64: false,
      crit: ["b64"],
      iat: Math.floor(Date.now() / 1000),
      nonce: "one",
      sid: "my end",
    })
    .sign((await keysOf(other)).private);
  end.send(JSON.stringify({ jws: `${signed.protected}..${signed.signature}`, msg }));
  const reply = (await end.inbox.message()) as { jws: string; msg: string };
  expect(JSON.parse(reply.msg)).toMatchObject({ result: "client-1", id: 1 });
  const [head = "", , signature = ""] = reply.jws.split(".");
  const flattened = { protected: head, payload: bytes(reply.msg), signature };
  const { protectedHeader } = await flattenedVerify(flattened, (await keysOf(own)).public, {
    crit: { b64: true } as never,
  });
  expect(protectedHeader).toMatchObject({ kid: "server-1", to: "my end", b64: false });
  end.kill();
  await server.close();
});
