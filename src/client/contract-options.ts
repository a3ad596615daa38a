import type { MethodDefinition } from "../protocol/contract.ts";
import { RemoteError } from "../protocol/errors.ts";
import type { Middleware } from "../protocol/handle.ts";
import type { Values } from "../protocol/json-value.ts";
import type { Reply } from "../protocol/message.ts";
import type { ClientOptions, RichOptions } from "./client.ts";
import { isIdempotent } from "./outgoing-call.ts";

/**
 * Options for a client that has the contract, or the methods, of its server at run time. It then knows which methods
 * are idempotent, and `isRpcError` knows errors by their names. The type of the methods comes from the contract.
 * @example
 * ```ts
 * import { contractOptions, createClient, isRpcError, method, safe } from "callwire";
 * import { httpLink } from "callwire/http";
 *
 * const contract = {
 *   find: method({ errors: { NOT_FOUND: { code: 1404 } }, idempotent: true }),
 * };
 * const options = contractOptions(contract, { timeoutMs: 5_000 });
 * const client = createClient(httpLink("http://127.0.0.1:8000/rpc"), options);
 * const found = await safe(client.api.find());
 * if (!found.ok && isRpcError(found.error, "NOT_FOUND")) console.log("nothing was found");
 * ```
 */
export function contractOptions<M extends object>(
  contract: M,
  options: RichOptions<M>,
): RichOptions<M>;
export function contractOptions<M extends object>(
  contract: M,
  options?: ClientOptions<M>,
): ClientOptions<M>;
export function contractOptions<M extends object>(
  contract: M,
  options: ClientOptions<M, Values> = {},
): ClientOptions<M, Values> {
  const { separator = "/", idempotent, use = [] } = options;
  const definitions = new Map<string, MethodDefinition>();
  collect(contract, "", separator, definitions);
  const isListed = isIdempotent(idempotent);
  const nameErrors: Middleware = (next) => async (request, context) =>
    named(await next(request, context), definitions.get(request.method));
  return {
    ...options,
    idempotent: (method: string) => isListed(method) || !!definitions.get(method)?.idempotent,
    use: [...use, nameErrors],
  };
}

function collect(
  group: object,
  prefix: string,
  separator: string,
  definitions: Map<string, MethodDefinition>,
): void {
  for (const [key, entry] of Object.entries(group)) {
    const name = prefix + key;
    // A group may have a method called "kind", but that is not a string.
    if (typeof entry?.kind === "string") definitions.set(name, entry.definition);
    else if (typeof entry === "object") collect(entry, name + separator, separator, definitions);
  }
}

/** The reply with the name of its error; null if the method does not declare it. */
function named(
  reply: Reply | undefined,
  definition: MethodDefinition | undefined,
): Reply | undefined {
  if (!reply?.error) return reply;
  const { code, message, data } = reply.error;
  const declared = Object.entries(definition?.errors ?? {}).find(([, one]) => one.code === code);
  const error = new RemoteError(code, message, data);
  error.declared = declared?.[0] ?? null;
  return { ...reply, error };
}
