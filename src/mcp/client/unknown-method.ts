import { methodNotFound, RemoteError } from "../../protocol/errors.ts";

/** Most servers say this of a method that they do not know, and not of which one. */
const bare = /^method not found\.?$/i;

/** Names the method, which is not that of the client that its user called. */
export function namingMethod(error: unknown, method: string): unknown {
  if (!(error instanceof RemoteError) || error.code !== methodNotFound.code) return error;
  if (!bare.test(error.message)) return error;
  return new RemoteError(error.code, `${methodNotFound.message}: ${method}`, error.data);
}
