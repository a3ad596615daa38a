import { createSigningKey, signedMessages, signedRequests } from "callwire/security/signing";
import { expect, test } from "vitest";

test("a key that can only verify is refused at once where a server is to sign its replies", () => {
  const { verifier } = createSigningKey("ed25519", "server-1");
  const sentence = "the key server-1 cannot sign";
  expect(() => signedMessages({ key: verifier })).toThrow(sentence);
  expect(() => signedRequests({ keys: [], replyKey: verifier })).toThrow(sentence);
});
