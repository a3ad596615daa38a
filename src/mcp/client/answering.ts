import { WireError } from "../../protocol/errors.ts";
import type { InputRequest } from "../client-input.ts";
import type { Conversation } from "./conversation.ts";

/** Aborts when a caller gives up, or the client is closed. */
export function goneSignal(
  { closing }: Conversation,
  signal: AbortSignal | undefined,
): AbortSignal {
  return signal === undefined ? closing : AbortSignal.any([signal, closing]);
}

/** Has a question answered, for as long as somebody waits for it; a handler that hangs holds up nobody. */
export function answerTo(
  request: InputRequest,
  conversation: Conversation,
  signal: AbortSignal | undefined,
): Promise<object> {
  const gone = goneSignal(conversation, signal);
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(goneError(conversation, request.method));
    if (gone.aborted) {
      stop();
      return;
    }
    gone.addEventListener("abort", stop, { once: true });
    conversation.input
      .answer(request, { signal: gone })
      .then(resolve, reject)
      .finally(() => gone.removeEventListener("abort", stop));
  });
}

function goneError({ closing }: Conversation, method: string): WireError {
  return closing.aborted
    ? new WireError("CLOSED", "the client was closed")
    : new WireError("ABORTED", `${method} was cancelled`);
}
