import type { Context } from "./context.ts";
import type { AuthScheme } from "./credentials.ts";
import type { Undisclosed } from "./errors.ts";
import type { ErrorObject, MaybePromise, Reply, Request } from "./message.ts";
import type { Principal, Transport } from "./origin.ts";
import type { EndedSession } from "./session-reports.ts";
import type { Watcher } from "./watch.ts";

/**
 * Answers a request, or returns undefined for a notification. The router, every middleware on both sides and the
 * gateway have this shape. Returns a promise only if one is needed.
 */
export interface Handle {
  (request: Request, context: Context): MaybePromise<Reply | undefined>;
  /** Watchers among its middleware; the host that serves the handle calls them. */
  readonly watchers?: readonly Watcher[];
}

/**
 * Decides about a connection before it is open: its principal, undefined for an anonymous peer, or the error with
 * which it is refused.
 */
export type Admit = (transport: Transport) => MaybePromise<Principal | ErrorObject | undefined>;

/** Decides what a caller sees of an internal error. */
export type Disclose = (error: ErrorObject & Undisclosed, context: Context) => ErrorObject;

/**
 * Wraps a Handle in another: `(next) => (request, context) => next(request, context)`. The same shape on servers,
 * clients and gateways.
 */
export interface Middleware {
  (next: Handle): Handle;
  /** The same for opening a connection; not called on wires without a connection. */
  readonly admit?: (next: Admit) => Admit;
  /** What it guards against, for audits: "authentication", "rate limit" … */
  readonly guards?: string;
  /** How callers can authenticate, if it requires that; a service can publish it. */
  readonly schemes?: readonly AuthScheme[];
  /** Whether a caller may see a method; `rpc.discover` leaves out what any middleware hides. */
  readonly visible?: (method: string, context: Context) => boolean;
  /** Applies to errors that arise while a reply is written what the middleware does to internal errors in replies. */
  readonly disclose?: Disclose;
  /** Observes, on a server, what middleware cannot see: refused messages, sizes, streams, connections. */
  readonly watch?: Watcher;
  /** Called when a session of a protocol on top, such as MCP, has ended, on servers and clients. */
  readonly sessionEnded?: (session: EndedSession) => void;
  /** True if the middleware only observes on a server, so that it never changes a reply there. */
  readonly onlyWatches?: boolean;
}

/** Combines the visibility rules of all middleware. */
export function visibility(
  middleware: readonly Middleware[],
): (method: string, context: Context) => boolean {
  const rules = middleware.flatMap(({ visible }) => (visible === undefined ? [] : [visible]));
  return (method, context) => rules.every((rule) => rule(method, context) === true);
}

/**
 * Wraps once, when the server or client is created; the first middleware sees a call first.
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

/** Undefined if no middleware decides about connections. */
export function composeAdmission(middleware: readonly Middleware[]): Admit | undefined {
  const judges = middleware.flatMap(({ admit }) => admit ?? []);
  if (judges.length === 0) return undefined;
  return judges.reduceRight((next, wrap) => wrap(next), (() => undefined) as Admit);
}

/** Undefined if no middleware has `disclose`. */
export function composeDisclosure(middleware: readonly Middleware[]): Disclose | undefined {
  const rules = middleware.flatMap(({ disclose }) => disclose ?? []);
  if (rules.length === 0) return undefined;
  return (error, context) => rules.reduceRight((shown, rule) => rule(shown, context), error);
}

/** Distinguishes a refusal from a principal. */
export function isRefusal(decision: Principal | ErrorObject | undefined): decision is ErrorObject {
  return decision !== undefined && "code" in decision;
}
