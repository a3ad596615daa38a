import type { Context } from "./context.ts";
import type { MaybePromise, Reply, Request } from "./message.ts";

/**
 * Answers a request, or nothing for a notification. The router, every middleware on both
 * sides and the gateway have this one shape. A promise is returned only where one is needed.
 */
export type Handle = (request: Request, context: Context) => MaybePromise<Reply | undefined>;

export interface Middleware {
  (next: Handle): Handle;
  /** Whether a caller may know of a method; `rpc.discover` leaves out what any middleware hides. */
  readonly visible?: (method: string, context: Context) => boolean;
}

/** What a caller may know of, as all middleware together has it. */
export function visibility(
  middleware: readonly Middleware[],
): (method: string, context: Context) => boolean {
  const rules = middleware.flatMap(({ visible }) => (visible === undefined ? [] : [visible]));
  return (method, context) => rules.every((rule) => rule(method, context) === true);
}

/** Wraps once, when the server or client is made; the first middleware sees the call first. */
export function compose(middleware: readonly Middleware[], innermost: Handle): Handle {
  return middleware.reduceRight((next, wrap) => wrap(next), innermost);
}
