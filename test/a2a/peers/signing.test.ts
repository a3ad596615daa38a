import { type AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk";
import { a2aClient } from "callwire/a2a";
import { cardCheck, cardSigner } from "callwire/a2a/signing";
import { exportJWK, generateKeyPair } from "jose";
import { expect, test } from "vitest";
import { describeWith } from "../../services.ts";
import { serveAgent } from "../served-agent.ts";

const { privateKey, publicKey } = await generateKeyPair("ES256");
const jwk = { ...(await exportJWK(publicKey)), kid: "one", alg: "ES256" };
const card = {
  name: "Signed",
  description: "Proves who it is",
  extensions: [{ uri: "https://example.com/x", required: false }],
  securitySchemes: { token: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
  securityRequirements: [{ schemes: { token: { list: [] } } }],
};

describeWith(["a2a peers"], "signatures of cards", () => {
  test("the SDK verifies our signature, and a changed card fails", async () => {
    const signCard = cardSigner({ key: privateKey, alg: "ES256", kid: "one" });
    const { base } = await serveAgent({ card, signCard, execute: () => "hi" });
    const served = await (await fetch(`${base}/.well-known/agent-card.json`)).json();
    const verify = verifyAgentCardSignature(async () => publicKey);
    // As JSON: the SDK loses the security schemes of a card that it has parsed before.
    await verify(served as AgentCard);
    await expect(verify({ ...(served as AgentCard), name: "Other" })).rejects.toThrow();
  });

  test("our client verifies a card that the SDK has signed, and refuses a changed or unsigned one", async () => {
    const { base } = await serveAgent({ card, execute: () => "hi" });
    const plain = await (await fetch(`${base}/.well-known/agent-card.json`)).json();
    const sign = generateAgentCardSignature(privateKey, { alg: "ES256", kid: "one", typ: "JOSE" });
    const signed = await sign(plain as AgentCard);
    const checkCard = cardCheck({ keys: { keys: [jwk] } });
    const reading = (body: unknown) =>
      a2aClient(base, { checkCard, fetch: async () => Response.json(body) });
    expect((await reading(signed)).card.name).toBe("Signed");
    await expect(reading({ ...signed, version: "2" })).rejects.toThrow(/no signature .* is valid/);
    await expect(reading(plain)).rejects.toThrow(/not signed/);
  });
});
