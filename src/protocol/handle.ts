import type { Context } from "./context.ts";
import type { Undisclosed } from "./errors.ts";
import type { ErrorObject, MaybePromise, Reply, Request } from "./message.ts";
import type { Principal, Transport } from "./origin.ts";
import type { Watcher } from "./watch.ts";

/**
 * Answers a request, or nothing for a notification. The router, every middleware on both
 * sides and the gateway have this one shape. A promise is returned only where one is needed.
 */
export interface Handle {
  (request: Request, context: Context): MaybePromise<Reply | undefined>;
  /** Those among its middleware that watch; whoever serves the handle tells them. */
  readonly watchers?: readonly Watcher[];
}

/**
 * Judges whoever opens a connection, before it is open: who it is, undefined for nobody in particular,
 * or the error that it is refused with.
 */
export type Admit = (transport: Transport) => MaybePromise<Principal | ErrorObject | undefined>;

/** What a caller is told of an internal error. */
export type Disclose = (error: ErrorObject & Undisclosed, context: Context) => ErrorObject;

/** Wraps a Handle in another: `(next) => (request, context) => next(request, context)`. The same on servers, clients and gateways. */
export interface Middleware {
  (next: Handle): Handle;
  /** The same for the opening of connections; wires without a connection do not ask. */
  readonly admit?: (next: Admit) => Admit;
  /** What it guards against, for those who look a server over: "authentication", "rate limit" … */
  readonly guards?: string;
  /** Whether a caller may know of a method; `rpc.discover` leaves out what any middleware hides. */
  readonly visible?: (method: string, context: Context) => boolean;
  /** The same as it does to internal errors in replies, for those that come of writing a reply. */
  readonly disclose?: Disclose;
  /** Hears, on a server, what a middleware cannot see: refused messages, sizes, streams, connections. */
  readonly watch?: Watcher;
  /** Set where the watch does all of its work on a server, so that it never changes a reply there. */
  readonly onlyWatches?: boolean;
}

/** What a caller may know of, as all middleware together has it. */
export function visibility(
  middleware: readonly Middleware[],
): (method: string, context: Context) => boolean {
  const rules = middleware.flatMap(({ visible }) => (visible === undefined ? [] : [visible]));
  return (method, context) => rules.every((rule) => rule(method, context) === true);
}

/**
 * Wraps once, when the server or client is made; the first middleware sees the call first.
 * @example
 * ```ts
 * import { compose, type Handle, type Middleware, success } from "callwire";
 *
 * const answer: Handle = ({ params }) => success(params);
 * const count: Middleware = (next) => (request, context) => {
 *   console.log(request.method);
 *   return next(request, context);
 * };
 * const handle = compose([count], answer);
 * ```
 */
export function compose(middleware: readonly Middleware[], innermost: Handle): Handle {
  const handle = middleware.reduceRight((next, wrap) => wrap(next), innermost);
  const watchers = middleware.flatMap(({ watch }) => watch ?? []);
  if (watchers.length === 0) return handle;
  watchers.push(...(innermost.watchers ?? []));
  const watched: Handle = (request, context) => handle(request, context);
  return Object.assign(watched, { watchers });
}

/** Undefined where no middleware judges connections. */
export function composeAdmission(middleware: readonly Middleware[]): Admit | undefined {
  const judges = middleware.flatMap(({ admit }) => admit ?? []);
  if (judges.length === 0) return undefined;
  return judges.reduceRight((next, wrap) => wrap(next), (() => undefined) as Admit);
}

/** Undefined where no middleware cares. */
export function composeDisclosure(middleware: readonly Middleware[]): Disclose | undefined {
  const rules = middleware.flatMap(({ disclose }) => disclose ?? []);
  if (rules.length === 0) return undefined;
  return (error, context) => rules.reduceRight((told, rule) => rule(told, context), error);
}

/** Tells the two outcomes of an admission apart. */
export function isRefusal(verdict: Principal | ErrorObject | undefined): verdict is ErrorObject {
  return verdict !== undefined && "code" in verdict;
}
