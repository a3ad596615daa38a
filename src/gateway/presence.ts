import { callFailureIn, ErrorCode, RpcError, WireError } from "../protocol/errors.ts";
import { failure, type Reply } from "../protocol/message.ts";

/**
 * What came of a request, where a server was there to take it. A wrong path is as good as no
 * connection: the call did not run, and nothing that is sent there ever will.
 */
export async function fromSomebody(sent: Promise<Reply | undefined>): Promise<Reply | undefined> {
  const reply = await sent.catch((error: unknown) => {
    // An answer without an id, which is thrown where it can only mean this call.
    if (error instanceof RpcError) return answered(error);
    throw isRefusedPath(error) ? nowhere(error.status ?? 404, error) : error;
  });
  if (reply !== undefined && isNotFound(reply)) throw nowhere(404);
  return reply;
}

/** The error as it came; the status of a reply here is not for the next hop to choose. */
function answered({ code, message, data }: RpcError): Reply {
  return failure({ code, message, data });
}

function isRefusedPath(error: unknown): error is WireError {
  if (!(error instanceof WireError) || error.code !== "HTTP_STATUS") return false;
  return error.status === 404 || error.status === 405;
}

function isNotFound({ error }: Reply): boolean {
  return error?.code === ErrorCode.InvalidRequest && callFailureIn(error)?.reason === "not-found";
}

function nowhere(status: number, cause?: unknown): WireError {
  const sentence = `nothing takes calls at this path (HTTP ${status})`;
  return new WireError("CONNECTION_FAILED", sentence, { cause, status });
}
