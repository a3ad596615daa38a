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
import type { Log } from "../protocol/log.ts";
import { eventLine } from "../protocol/log-text.ts";
import {
  type ErrorObject,
  failure,
  isThenable,
  type MaybePromise,
  type Reply,
} from "../protocol/message.ts";
import type { Principal, Transport } from "../protocol/origin.ts";
import { overloaded } from "./access-errors.ts";
import { inspectReply } from "./reply-hook.ts";

/** Takes one line, ending with a line feed. It may throw or reject, and never gets secrets. */
export type AuditSink = (line: string) => unknown;

export interface AuditLogOptions {
  /** Which decisions are written. @default "all" */
  readonly decisions?: "all" | "denied";
  /**
   * Refuses calls that cannot be logged first. Each call then has two lines: one before it runs and
   * one with its outcome. Without this, calls still run while the sink fails. @default false
   */
  readonly failClosed?: boolean;
  /** Most lines waiting for a slow sink. Further ones are lost or, with `failClosed`, refused. @default 10000 */
  readonly maxPending?: number;
}

/** One line of the log. */
interface Entry {
  /** "reply" follows "call" if the result could not be serialized, so that the caller got an error. */
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
 * Writes one line of JSON for each allowed or denied call. Put it first in `use`, so that it sees the
 * decisions of all other middleware.
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
  const writer = new AuditWriter(sink, limitOf("maxPending", options.maxPending, 10_000));

  const finish = (reply: Reply | undefined, context: Context): Reply | undefined => {
    const error = reply?.error as (ErrorObject & Undisclosed) | undefined;
    const entry = entryOf("call", error);
    if (decisions === "all" || entry.decision === "deny") {
      writer.write(fieldsOf(entry, context, context), context.log);
    }
    return reply;
  };

  const wrap = (next: Handle): Handle => {
    const run: Handle = (request, context) => inspectReply(next, request, context, finish);
    if (!failClosed) return run;
    return (request, context) => {
      const entry = fieldsOf({ event: "attempt" }, context, context);
      return afterWriting(writer.tryWrite(entry, context.log), failure(notWritten), () =>
        run(request, context),
      );
    };
  };

  const disclose: Disclose = (error, context) => {
    const { code, correlationId } = error;
    if (decisions === "all") {
      writer.write(
        fieldsOf({ event: "reply", code, correlationId }, context, context),
        context.log,
      );
    }
    return error;
  };

  const admit =
    (next: Admit): Admit =>
    (transport) => {
      const decided = (decision: Principal | ErrorObject | undefined) => {
        const refusal = isRefusal(decision) ? decision : undefined;
        const entry = entryOf("connection", refusal);
        if (decisions === "denied" && refusal === undefined) return decision;
        const principal = isRefusal(decision) ? undefined : decision;
        const fields = fieldsOf(entry, { principal, transport });
        if (!failClosed) writer.write(fields);
        else return afterWriting(writer.tryWrite(fields), notWritten, () => decision);
        return decision;
      };
      const decision = next(transport);
      return isThenable(decision) ? decision.then(decided) : decided(decision);
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
  // Calls of unknown methods count as denied, since they may be probing.
  const isUnknown = code === ErrorCode.MethodNotFound;
  const reason = error.reason ?? (isUnknown ? "the method does not exist" : undefined);
  // A refusal that is disguised for the caller still has a reason.
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

/** Longest string in a line, in characters; callers choose method names. */
const longestText = 256;

/** The members of one line, all primitive. */
type Fields = Readonly<Record<string, unknown>>;

/** Writes lines to a sink that may fail. */
class AuditWriter {
  readonly #sink: (line: string) => unknown;
  readonly #maxPending: number;
  #pending = 0;
  /** Lines lost since the last report. */
  #lost = 0;
  #isReported = false;

  constructor(sink: (line: string) => unknown, maxPending: number) {
    this.#sink = sink;
    this.#maxPending = maxPending;
  }

  /** Writes a line and ignores a failure. */
  write(fields: Fields, log?: Log): void {
    void this.tryWrite(fields, log);
  }

  /** Whether the line was written. */
  tryWrite(fields: Fields, log?: Log): MaybePromise<boolean> {
    if (this.#pending >= this.#maxPending)
      return this.#failed(new Error(`${this.#maxPending} lines wait for the sink`), log);
    try {
      const written = this.#sink(lineOf(fields));
      if (!isThenable(written)) return this.#done(log);
      this.#pending++;
      return written.then(
        () => {
          this.#pending--;
          return this.#done(log);
        },
        (error: unknown) => {
          this.#pending--;
          return this.#failed(error, log);
        },
      );
    } catch (error) {
      return this.#failed(error, log);
    }
  }

  #done(log: Log | undefined): true {
    if (this.#lost > 0 && log !== undefined) {
      log.warn({ lost: this.#lost }, "audit log works again; lines were lost");
      this.#lost = 0;
      this.#isReported = false;
    }
    return true;
  }

  #failed(error: unknown, log: Log | undefined): false {
    this.#lost++;
    // Logged once, or every lost line would add a line to the log.
    if (!this.#isReported && log !== undefined) {
      log.error({ err: error }, "audit log cannot be written");
      this.#isReported = true;
    }
    return false;
  }
}

function lineOf(fields: Fields): string {
  const line = eventLine(fields);
  // Checking each value takes longer than checking the line.
  return `${line.length > longestText ? eventLine(shortened(fields)) : line}\n`;
}

function shortened(fields: Fields): object {
  const entries = Object.entries(fields).map(([name, value]) => [
    name,
    typeof value === "string" && value.length > longestText
      ? `${value.slice(0, longestText)}…`
      : value,
  ]);
  return Object.fromEntries(entries);
}
