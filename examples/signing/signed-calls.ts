import type { Middleware } from "callwire";
import { authenticate } from "callwire/security";
import { type KeySource, signedParams, signedRequests } from "callwire/security/signing";

/** Takes calls that are signed in their headers or in their params, and refuses every other one. */
export function signedCalls(keys: KeySource): Middleware[] {
  return [authenticate(signedRequests({ keys }), { anonymous: true }), signedParams({ keys })];
}
