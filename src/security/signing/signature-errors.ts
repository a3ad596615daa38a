import { overloaded, type Refusal, unauthenticated } from "../access-errors.ts";

/** Why a signed message was refused; stable, and found as `data.reason` of the error -32001. */
export type SignatureFault =
  /** There is no signature where one is due. */
  | "signature-missing"
  /** It does not fit: the key is not known or not valid now, the message was changed, or it covers too little. */
  | "signature-invalid"
  /** The time stamp is too far from the clock of this end, or the message has expired. */
  | "signature-expired"
  /** The nonce was used before, or the message is older than this process. */
  | "replayed"
  /** Somebody else was said to call before: by another signature on this connection, or by another credential. */
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
/** The store has no room; the caller is not at fault and may come again. */
export const noncesFull: SignatureRefusal = overloaded("the store of nonces is full");
