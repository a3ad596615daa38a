import type { Context } from "../protocol/context.ts";
import { ErrorCode, internalError, type Undisclosed } from "../protocol/errors.ts";
import type { Disclose, Handle, Middleware } from "../protocol/handle.ts";
import { type ErrorObject, failure, type Reply } from "../protocol/message.ts";
import type { Principal } from "../protocol/origin.ts";
import { afterwards } from "./afterwards.ts";

/**
 * How much an error tells of what happened inside: an id under which the log has it, also the name and
 * message of what was thrown, or also its stack.
 */
export type ErrorLevel = "production" | "internal" | "development";

const levels: readonly string[] = ["production", "internal", "development"] satisfies ErrorLevel[];

export interface DiscloseErrorsOptions {
  /** How much callers learn of internal errors. @default "production" */
  readonly level?: ErrorLevel;
  /** Who gets the stack at any level: ids of principals, roles, or a function. @default nobody */
  readonly detailsFor?:
    | { readonly principals?: readonly string[]; readonly roles?: readonly string[] }
    | ((principal: Principal) => boolean);
}

/**
 * Gives each internal error an id that stands in the log too, and keeps what was thrown from those who
 * need not know. Errors that methods declare, and those about what the caller sent, pass as they are.
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
  // One that is none would tell as much as the last.
  if (!levels.includes(level)) {
    throw new TypeError(`level is one of ${levels.join(", ")}, and not ${level}`);
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
      afterwards(next, request, context, look);
  return Object.assign(wrap, { guards: "error hygiene", disclose });
}

function disclosed(
  error: ErrorObject & Undisclosed,
  level: ErrorLevel,
  context: Context,
): ErrorObject & Undisclosed {
  const { correlationId = logged(error, context) } = error;
  // An error that a handler made itself says what it says in its message.
  const cause = error.cause ?? error;
  const data =
    level === "production" ? { correlationId } : { correlationId, ...told(cause, level) };
  return { ...internalError, data, correlationId, cause };
}

/** A handler threw this error itself, so that nobody has written it down. */
function logged(error: ErrorObject, context: Context): string {
  const correlationId = crypto.randomUUID();
  const { method, id } = context;
  context.log.error({ err: error, method, id, correlationId }, "handler failed");
  return correlationId;
}

function told(cause: unknown, level: "internal" | "development"): object {
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
