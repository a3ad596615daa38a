/** Takes a call that is signed in its headers or in its params, and refuses every other one. */
import { failure, type Middleware, RpcError } from "callwire";
import { type KeySource, signedParams, signedRequests } from "callwire/security/signing";

export function guard(keys: KeySource): Middleware {
  const headers = signedRequests({ keys });
  const inParams = signedParams({ keys });
  return (next) => {
    const withParams = inParams(next);
    return async (request, context) => {
      const who = await headers.verify(context.transport);
      if (who === undefined) return withParams(request, context);
      if ("code" in who) return failure(new RpcError(who.code, who.message, who.data));
      context.principal = who;
      return next(request, context);
    };
  };
}
