import type { Context } from "../protocol/context.ts";
import { ErrorCode, type Undisclosed } from "../protocol/errors.ts";
import {
  type Admit,
  type Disclose,
  type Handle,
  isRefusal,
  type Middleware,
} from "../protocol/handle.ts";
import { limitOf } from "../protocol/limits.ts";
import {
  type ErrorObject,
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
} from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { afterwards } from "./afterwards.ts";
import { AuditTrail, type Fields } from "./audit-trail.ts";
import { overloaded } from "./refusals.ts";

/** Takes one line, which ends with a line feed. It may throw or reject; it is never called with secrets. */
export type AuditSink = (line: string) => unknown;

export interface AuditLogOptions {
  /** Which decisions are written down. @default "all" */
  readonly decisions?: "all" | "denied";
  /**
   * Whether nothing runs that was not written down first. Each call then has two lines: that it came,
   * before it runs, and what became of it. @default false: the service goes on without its audit log
   */
  readonly failClosed?: boolean;
  /** Most lines that a slow sink is behind; more are lost, or refused where it fails closed. @default 10000 */
  readonly maxPending?: number;
}

/** One line of the log. */
interface Entry {
  /** "reply" follows "call" where what the method came to could not be written, so that its caller got an error. */
  readonly event: "attempt" | "call" | "reply" | "connection";
  readonly decision?: "allow" | "deny";
  readonly reason?: string | undefined;
  readonly code?: number | undefined;
  readonly correlationId?: string | undefined;
}

const denials: ReadonlySet<number> = new Set([
  ErrorCode.Unauthenticated,
  ErrorCode.Forbidden,
  ErrorCode.RateLimited,
]);
const notWritten = overloaded("the audit log cannot be written");

/**
 * Writes down who was let through to which method and who was not, as one line of JSON each. It stands
 * first in `use`, so that it sees what all the others decide.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { auditLog } from "callwire/security";
 * import { auditFile } from "callwire/security/node";
 *
 * const audited = createServer(methods, {
 *   use: [auditLog(auditFile("audit.log"), { failClosed: true })],
 * });
 * ```
 */
export function auditLog(sink: AuditSink, options: AuditLogOptions = {}): Middleware {
  const { decisions = "all", failClosed = false } = options;
  const trail = new AuditTrail(sink, limitOf("maxPending", options.maxPending, 10_000));

  const finish = (reply: Reply | undefined, context: Context): Reply | undefined => {
    const error = reply?.error as (ErrorObject & Undisclosed) | undefined;
    const entry = entryOf("call", error);
    if (decisions === "all" || entry.decision === "deny") {
      trail.write(fieldsOf(entry, context, context), context.log);
    }
    return reply;
  };

  const wrap = (next: Handle): Handle => {
    const run: Handle = (request, context) => afterwards(next, request, context, finish);
    if (!failClosed) return run;
    return (request, context) => {
      const entry = fieldsOf({ event: "attempt" }, context, context);
      return afterWriting(trail.writeSurely(entry, context.log), failure(notWritten), () =>
        run(request, context),
      );
    };
  };

  const disclose: Disclose = (error, context) => {
    const { code, correlationId } = error;
    if (decisions === "all") {
      trail.write(fieldsOf({ event: "reply", code, correlationId }, context, context), context.log);
    }
    return error;
  };

  const admit =
    (next: Admit): Admit =>
    (transport) => {
      const decided = (verdict: Principal | ErrorObject | undefined) => {
        const refusal = isRefusal(verdict) ? verdict : undefined;
        const entry = entryOf("connection", refusal);
        if (decisions === "denied" && refusal === undefined) return verdict;
        const principal = isRefusal(verdict) ? undefined : verdict;
        const fields = fieldsOf(entry, { principal, transport });
        if (!failClosed) trail.write(fields);
        else return afterWriting(trail.writeSurely(fields), notWritten, () => verdict);
        return verdict;
      };
      const verdict = next(transport);
      return isThenable(verdict) ? verdict.then(decided) : decided(verdict);
    };

  return Object.assign(wrap, { admit, disclose, guards: "audit log" });
}

function afterWriting<T>(
  written: MaybePromise<boolean>,
  otherwise: T,
  go: () => MaybePromise<T>,
): MaybePromise<T> {
  if (isThenable(written)) return written.then((done) => (done ? go() : otherwise));
  return written ? go() : otherwise;
}

function entryOf(event: Entry["event"], error: (ErrorObject & Undisclosed) | undefined): Entry {
  if (error === undefined) return { event, decision: "allow" };
  const { code, correlationId } = error;
  // Nobody was let through to what is not there, and who looks for it is worth knowing.
  const isUnknown = code === ErrorCode.MethodNotFound;
  const reason = error.reason ?? (isUnknown ? "there is no such method" : undefined);
  // A refusal that looks like something else to the caller is known by its reason.
  const denied = event === "connection" || reason !== undefined || denials.has(code);
  return { event, decision: denied ? "deny" : "allow", reason, code, correlationId };
}

function fieldsOf(
  { event, decision, reason, code, correlationId }: Entry,
  {
    principal,
    transport,
  }: { readonly principal: Principal | undefined; readonly transport: Transport },
  call?: Pick<Context, "method" | "id">,
): Fields {
  return {
    time: new Date().toISOString(),
    event,
    decision,
    method: call?.method,
    id: call?.id,
    principal: principal?.id,
    wire: transport.kind,
    address: transport.remoteAddress,
    reason,
    code,
    correlationId,
  };
}
