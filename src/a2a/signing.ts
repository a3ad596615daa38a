/** Signatures of agent cards, by the package `jose`. @module callwire/a2a/signing */
import {
  type CryptoKey,
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  FlattenedSign,
  flattenedVerify,
  type JSONWebKeySet,
  type JWK,
} from "jose";
import { base64Url } from "../protocol/base64.ts";
import { canonicalCard } from "./canonical-card.ts";
import type { AgentCard, CardSigner } from "./card.ts";

export interface CardSigningOptions {
  /** The private key. */
  readonly key: CryptoKey | JWK;
  /** The algorithm, such as "ES256". */
  readonly alg: string;
  /** Names the key, so that clients find it. */
  readonly kid: string;
  /** Where clients find the public key, as a JSON Web Key Set. @default they know it */
  readonly jku?: string;
}

/**
 * Signs the card of an agent.
 * @example
 * ```ts
 * import { a2aAgent } from "callwire/a2a";
 * import { cardSigner } from "callwire/a2a/signing";
 * import { generateKeyPair } from "jose";
 *
 * const { privateKey } = await generateKeyPair("ES256");
 * const agent = a2aAgent({
 *   card: { name: "Parrot", description: "Repeats what it is told" },
 *   signCard: cardSigner({ key: privateKey, alg: "ES256", kid: "2026" }),
 *   execute: (message) => message.text,
 * });
 * ```
 */
export function cardSigner({ key, alg, kid, jku }: CardSigningOptions): CardSigner {
  const header = { alg, kid, typ: "JOSE", ...(jku !== undefined && { jku }) };
  return async (canonical) => {
    const payload = new TextEncoder().encode(canonical);
    const { protected: head = "", signature } = await new FlattenedSign(payload)
      .setProtectedHeader(header)
      .sign(key);
    return { protected: head, signature };
  };
}

export interface CardCheckOptions {
  /** The keys that cards may be signed with: a set, or the URL of one. */
  readonly keys: JSONWebKeySet | URL;
}

/**
 * Refuses cards that none of these keys has signed; for the option `checkCard` of `a2aClient`. The address of a key in
 * the card itself is ignored.
 * @example
 * ```ts
 * import { a2aClient } from "callwire/a2a";
 * import { cardCheck } from "callwire/a2a/signing";
 *
 * const checkCard = cardCheck({ keys: new URL("https://agents.example.com/keys.json") });
 * const agent = await a2aClient("https://agents.example.com", { checkCard });
 * ```
 */
export function cardCheck({ keys }: CardCheckOptions): (card: AgentCard) => Promise<void> {
  const find = keys instanceof URL ? createRemoteJWKSet(keys) : createLocalJWKSet(keys);
  return async (card) => {
    const payload = new TextEncoder().encode(canonicalCard(card));
    let cause: unknown;
    for (const signature of card.signatures ?? []) {
      try {
        decodeProtectedHeader(signature);
        await flattenedVerify({ ...signature, payload: base64Url(payload) }, find);
        return;
      } catch (error) {
        cause = error;
      }
    }
    const what =
      card.signatures === undefined
        ? "the agent card is not signed"
        : "no signature of the agent card is valid";
    throw new Error(what, { cause });
  };
}
