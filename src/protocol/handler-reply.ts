import type { Context } from "./context.ts";
import { RemoteError, RpcError, type Undisclosed } from "./errors.ts";
import { type ErrorObject, failure, type Reply, success } from "./message.ts";
import { internalError } from "./standard-errors.ts";

/**
 * The only place that turns a thrown value into a reply. An RpcError of this server reaches the caller; the message
 * of anything else stays in the log.
 */
export function caught(thrown: unknown, context: Context): Reply {
  if (thrown instanceof RpcError && !(thrown instanceof RemoteError)) return failure(thrown);
  // A handler that stops because its call was cancelled usually throws, which is not a fault.
  if (context.ended !== undefined) return failure(internalError);
  return failure(loggedFault(thrown, context, "handler failed"));
}

/** Logs an internal error under a correlation id that the error also carries. */
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

/** Takes the reply of an asynchronous handler. */
interface ReplyReceiver {
  settle(reply: Reply): void;
}

/**
 * The reply of an asynchronous handler. It is thenable but not a promise, because a promise per layer is the largest
 * cost of an asynchronous call; awaiting it makes the one that is needed.
 */
export class LaterReply implements PromiseLike<Reply> {
  private readonly result: Promise<unknown>;
  private readonly context: Context;

  constructor(result: Promise<unknown>, context: Context) {
    this.result = result;
    this.context = context;
  }

  settle(receiver: ReplyReceiver): void {
    this.result.then(
      (result) => receiver.settle(success(result)),
      (thrown: unknown) => receiver.settle(caught(thrown, this.context)),
    );
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaited is what it is for.
  then<A = Reply, B = never>(
    onReply?: ((reply: Reply) => A | PromiseLike<A>) | null,
    onThrow?: ((thrown: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const reply = new Promise<Reply>((resolve) => this.settle({ settle: resolve }));
    return reply.then(onReply, onThrow);
  }
}
