import type { Context } from "../protocol/context.ts";
import type { Handle } from "../protocol/handle.ts";
import { caught } from "../protocol/handler-reply.ts";
import { isThenable, type Reply, type Request } from "../protocol/message.ts";

/** Passes the reply of a call to `look`, also if middleware or the method threw. */
export function inspectReply(
  next: Handle,
  request: Request,
  context: Context,
  look: (reply: Reply | undefined, context: Context) => Reply | undefined,
): ReturnType<Handle> {
  try {
    const reply = next(request, context);
    if (!isThenable(reply)) return look(reply, context);
    return reply.then(
      (found) => look(found, context),
      (thrown: unknown) => look(caught(thrown, context), context),
    );
  } catch (thrown) {
    return look(caught(thrown, context), context);
  }
}
