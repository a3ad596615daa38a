import type { CallContext, Context } from "./context.ts";
import { internalError, RemoteError, RpcError, type Undisclosed } from "./errors.ts";
import { type ErrorObject, failure, type Reply } from "./message.ts";

/**
 * The one place that turns a throw into a reply. Only an RpcError of this end reaches the
 * caller; the text of anything else stays in the log.
 */
export function caught(thrown: unknown, context: Context): Reply {
  if (thrown instanceof RpcError && !(thrown instanceof RemoteError)) return failure(thrown);
  // A handler that stops because its call was cancelled usually throws; that is no fault.
  if ((context as Partial<CallContext>).ended !== undefined) return failure(internalError);
  return failure(loggedFault(thrown, context, "handler failed"));
}

/** Writes a fault of this end down, under an id that its error has too. */
export function loggedFault(
  thrown: unknown,
  context: Context,
  sentence: string,
): ErrorObject & Undisclosed {
  const correlationId = crypto.randomUUID();
  const { method, id } = context;
  context.log.error({ err: thrown, method, id, correlationId }, sentence);
  return { ...internalError, correlationId, cause: thrown };
}
