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
  const correlationId = crypto.randomUUID();
  const { method, id } = context;
  context.log.error({ err: thrown, method, id, correlationId }, "handler failed");
  const error: ErrorObject & Undisclosed = { ...internalError, correlationId, cause: thrown };
  return failure(error);
}
