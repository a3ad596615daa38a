import type { Context } from "../protocol/context.ts";
import { ErrorCode, type Undisclosed } from "../protocol/errors.ts";
import type { Disclose, Handle, Middleware } from "../protocol/handle.ts";
import { type ErrorObject, failure, type Reply } from "../protocol/message.ts";
import type { Principal } from "../protocol/origin.ts";
import { internalError } from "../protocol/standard-errors.ts";
import { inspectReply } from "./reply-hook.ts";

/**
 * How much callers see of an internal error: only the id of its log entry, also the name and message
 * of the exception, or also its stack.
 */
export type ErrorLevel = "production" | "internal" | "development";

const levels: readonly string[] = ["production", "internal", "development"] satisfies ErrorLevel[];

export interface DiscloseErrorsOptions {
  /** What all callers see. Levels above "production" may reveal secrets in messages. @default "production" */
  readonly level?: ErrorLevel;
  /** Principals that always get the stack: by id, by role, or by a function. @default none */
  readonly detailsFor?:
    | { readonly principals?: readonly string[]; readonly roles?: readonly string[] }
    | ((principal: Principal) => boolean);
}

/**
 * Gives each internal error an id that is also in the log, and hides the exception from callers.
 * Errors that methods declare, and errors about the request, pass unchanged.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { discloseErrors } from "callwire/security";
 *
 * const server = createServer(methods, {
 *   use: [discloseErrors({ level: "production", detailsFor: { roles: ["operator"] } })],
 * });
 * ```
 */
export function discloseErrors(options: DiscloseErrorsOptions = {}): Middleware {
  const { level = "production" } = options;
  // An unknown level would disclose as much as "development".
  if (!levels.includes(level)) {
    throw new TypeError(`"level" must be one of ${levels.join(", ")}, not "${level}"`);
  }
  const isTrusted = trustOf(options.detailsFor);
  const disclose: Disclose = (error, context) => {
    const { principal } = context;
    const granted = principal !== undefined && isTrusted(principal) ? "development" : level;
    return disclosed(error, granted, context);
  };
  const look = (reply: Reply | undefined, context: Context): Reply | undefined => {
    const error = reply?.error;
    return error?.code === ErrorCode.InternalError ? failure(disclose(error, context)) : reply;
  };
  const wrap =
    (next: Handle): Handle =>
    (request, context) =>
      inspectReply(next, request, context, look);
  return Object.assign(wrap, { guards: "error hygiene", disclose });
}

function disclosed(
  error: ErrorObject & Undisclosed,
  level: ErrorLevel,
  context: Context,
): ErrorObject & Undisclosed {
  // The caller no longer waits for the reply to a call that ended, and a handler that stops then usually throws.
  if (context.ended !== undefined && error.correlationId === undefined) return internalError;
  const { correlationId = logged(error, context) } = error;
  // An internal error thrown by the handler itself has no other cause.
  const cause = error.cause ?? error;
  const data =
    level === "production" ? { correlationId } : { correlationId, ...details(cause, level) };
  return { ...internalError, data, correlationId, cause };
}

/** Logs an error that the handler threw itself, which nothing else has logged. */
function logged(error: ErrorObject, context: Context): string {
  const correlationId = crypto.randomUUID();
  const { method, id } = context;
  context.log.error({ err: error, method, id, correlationId }, "handler failed");
  return correlationId;
}

function details(cause: unknown, level: "internal" | "development"): object {
  if (!(cause instanceof Error)) return { error: String((cause as ErrorObject).message ?? cause) };
  const error = `${cause.name}: ${cause.message}`;
  return level === "internal" ? { error } : { error, stack: cause.stack };
}

function trustOf(
  detailsFor: DiscloseErrorsOptions["detailsFor"] = {},
): (principal: Principal) => boolean {
  if (typeof detailsFor === "function") return detailsFor;
  const { principals = [], roles = [] } = detailsFor;
  return ({ id, roles: own = [] }) =>
    principals.includes(id) || own.some((role) => roles.includes(role));
}
