import type { Context } from "./context.ts";
import type { ErrorObject, MaybePromise, Reply, Request } from "./message.ts";
import type { Principal, Transport } from "./origin.ts";

/**
 * Answers a request, or nothing for a notification. The router, every middleware on both
 * sides and the gateway have this one shape. A promise is returned only where one is needed.
 */
export type Handle = (request: Request, context: Context) => MaybePromise<Reply | undefined>;

/**
 * Judges whoever opens a connection, before it is open: who it is, undefined for nobody in particular,
 * or the error that it is refused with.
 */
export type Admit = (transport: Transport) => MaybePromise<Principal | ErrorObject | undefined>;

export interface Middleware {
  (next: Handle): Handle;
  /** The same for the opening of connections; wires without a connection do not ask. */
  readonly admit?: (next: Admit) => Admit;
  /** What it guards against, for those who look a server over: "authentication", "rate limit" … */
  readonly guards?: string;
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

/** Undefined where no middleware judges connections. */
export function composeAdmission(middleware: readonly Middleware[]): Admit | undefined {
  const judges = middleware.flatMap(({ admit }) => admit ?? []);
  if (judges.length === 0) return undefined;
  return judges.reduceRight((next, wrap) => wrap(next), (() => undefined) as Admit);
}

/** Tells the two outcomes of an admission apart. */
export function isRefusal(verdict: Principal | ErrorObject | undefined): verdict is ErrorObject {
  return verdict !== undefined && "code" in verdict;
}
