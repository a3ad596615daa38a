import { ErrorCode, WireError } from "../protocol/errors.ts";
import type { Reply } from "../protocol/message.ts";

/**
 * What came of a request, where a server was there to take it. A wrong path is as good as no
 * connection: the call did not run, and nothing that is sent there ever will.
 */
export async function fromSomebody(sent: Promise<Reply | undefined>): Promise<Reply | undefined> {
  const reply = await sent.catch((error: unknown) => {
    throw isRefusedPath(error) ? nowhere(error.status ?? 404, error) : error;
  });
  if (isNotFound(reply)) throw nowhere(404);
  return reply;
}

function isRefusedPath(error: unknown): error is WireError {
  if (!(error instanceof WireError) || error.code !== "HTTP_STATUS") return false;
  return error.status === 404 || error.status === 405;
}

/** To the last word, since with other servers this code may mean anything. */
function isNotFound(reply: Reply | undefined): boolean {
  return (
    reply?.error?.code === ErrorCode.InvalidRequest &&
    reply.error.data === "there is nothing at this path"
  );
}

function nowhere(status: number, cause?: unknown): WireError {
  const sentence = `nothing takes calls at this path (HTTP ${status})`;
  return new WireError("CONNECTION_FAILED", sentence, { cause, status });
}
