import { failure, type Middleware, method, type Principal, RpcError } from "callwire";
import type { Credential } from "callwire/security/signing";
import { z } from "zod";

/** Lets in whom a credential vouches for, and nobody else. */
export function only(credential: Credential): Middleware {
  return (next) => async (request, context) => {
    const who = await credential.verify(context.transport);
    if (who === undefined) {
      const headers = { "www-authenticate": credential.challenge ?? "" };
      return failure(new RpcError(-32001, "Unauthenticated", undefined, { status: 401, headers }));
    }
    if ("code" in who) return failure(who);
    context.principal = who as Principal;
    return next(request, context);
  };
}

/** Tells callers who they are, and counts what ran. */
export function whoami() {
  const ran: string[] = [];
  const methods = {
    whoami: method({}, (_params, { principal }) => {
      ran.push("whoami");
      return principal?.id ?? "nobody";
    }),
    transfer: method({ params: z.looseObject({}) }, (params) => {
      ran.push("transfer");
      return params;
    }),
  };
  return { ran, methods };
}
