import { overloaded, type Refusal, unauthenticated } from "../access-errors.ts";

/** Why a signed message was refused: `data.reason` of error -32001. These values are stable. */
export type SignatureFault =
  /** The signature is missing. */
  | "signature-missing"
  /** The key is unknown or not valid now, the message was changed, or the signature covers too little. */
  | "signature-invalid"
  /** The time stamp is too far from the local clock, or the message has expired. */
  | "signature-expired"
  /** The nonce was used before, or the message is older than this process. */
  | "replayed"
  /** Another signature on this connection, or another credential, named a different principal before. */
  | "principal-changed";

export type SignatureRefusal = Refusal;

export const signatureChallenge = "Signature";

function refusal(reason: SignatureFault): SignatureRefusal {
  return {
    ...unauthenticated(reason),
    data: { reason },
    headers: { "www-authenticate": signatureChallenge },
  };
}

export const signatureMissing: SignatureRefusal = refusal("signature-missing");
export const signatureInvalid: SignatureRefusal = refusal("signature-invalid");
export const signatureExpired: SignatureRefusal = refusal("signature-expired");
export const replayed: SignatureRefusal = refusal("replayed");
export const principalChanged: SignatureRefusal = refusal("principal-changed");
/** The nonce store has no room; the caller may retry. */
export const noncesFull: SignatureRefusal = overloaded("the store of nonces is full");
