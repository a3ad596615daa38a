import { caught } from "./caught.ts";
import type { Context } from "./context.ts";
import { type Reply, success } from "./message.ts";

/** Where a later reply goes, whatever the handler comes to. */
interface Landing {
  land(reply: Reply): void;
}

/**
 * The reply of a handler that takes its time. It is thenable but no promise, because a promise
 * per layer is the largest cost of an asynchronous call; awaiting it makes the one that is needed.
 */
export class LaterReply implements PromiseLike<Reply> {
  private readonly result: Promise<unknown>;
  private readonly context: Context;

  constructor(result: Promise<unknown>, context: Context) {
    this.result = result;
    this.context = context;
  }

  land(landing: Landing): void {
    this.result.then(
      (result) => landing.land(success(result)),
      (thrown: unknown) => landing.land(caught(thrown, this.context)),
    );
  }

  // biome-ignore lint/suspicious/noThenProperty: being awaited is what it is for.
  then<A = Reply, B = never>(
    onReply?: ((reply: Reply) => A | PromiseLike<A>) | null,
    onThrow?: ((thrown: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const reply = new Promise<Reply>((resolve) => this.land({ land: resolve }));
    return reply.then(onReply, onThrow);
  }
}
