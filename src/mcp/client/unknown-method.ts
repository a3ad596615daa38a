import { RemoteError } from "../../protocol/errors.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";

/** The usual message for an unknown method, which does not name it. */
const bare = /^method not found\.?$/i;

/** Adds the name of the MCP method to such an error; the user called a differently named function. */
export function namingMethod(error: unknown, method: string): unknown {
  if (!(error instanceof RemoteError) || error.code !== methodNotFound.code) return error;
  if (!bare.test(error.message)) return error;
  return new RemoteError(error.code, `${methodNotFound.message}: ${method}`, error.data);
}
