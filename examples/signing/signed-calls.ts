import type { Middleware } from "callwire";
import { authenticate } from "callwire/security";
import { type KeySource, signedParams, signedRequests } from "callwire/security/signing";

/** Accepts calls that are signed in their headers or params, and rejects all others. */
export function signedCalls(keys: KeySource): Middleware[] {
  return [authenticate(signedRequests({ keys }), { anonymous: true }), signedParams({ keys })];
}
