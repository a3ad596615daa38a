import type { Context } from "../protocol/context.ts";
import { ErrorCode, type Undisclosed } from "../protocol/errors.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import type { Log } from "../protocol/log.ts";
import type { ErrorObject, Id, Reply, Request } from "../protocol/message.ts";
import type { Transport } from "../protocol/origin.ts";
import { traceContextOf, traceIdOf } from "../protocol/trace-context.ts";
import type { Answered } from "../protocol/watch.ts";
import { lineLog } from "./line-log.ts";
import { rememberedTrace, settled, sideOf } from "./observed-call.ts";
import { type RedactOptions, redactor } from "./redact.ts";

export interface LoggingOptions {
  /** Takes the entries: pino, or any object with its four methods. @default lineLog() */
  readonly log?: Log;
  /** Lowest level that is written. @default "info" */
  readonly level?: keyof Log;
  /** Chooses the level of an entry; undefined drops it. @default errors of the caller and slow calls are warnings, failures errors */
  readonly levelOf?: (entry: CallEntry) => keyof Log | undefined;
  /** Logs params, results and error data, redacted and shortened. They may hold personal data. @default false */
  readonly bodies?: boolean | RedactOptions;
  /** Calls that take longer are marked as slow and logged as warnings. @default 1000 */
  readonly slowMs?: number;
}

/** The log entry of one call, or of one entry of a batch. */
export interface CallEntry {
  /** "in" was answered here, "out" was sent to a server. */
  readonly side: "in" | "out";
  readonly id?: Id | undefined;
  readonly method?: string | undefined;
  readonly transport?: string | undefined;
  /** The same number for all calls of one connection or HTTP request. */
  readonly connection?: number | undefined;
  readonly principal?: string | undefined;
  readonly durationMs: number;
  /** In characters. */
  readonly requestSize?: number | undefined;
  readonly replySize?: number | undefined;
  /**
   * "refused": not dispatched, because it was malformed or the server was full. "cancelled": the caller left.
   * "failed": no answer arrived.
   */
  readonly outcome: "ok" | "error" | "refused" | "cancelled" | "failed";
  readonly code?: number | string | undefined;
  readonly error?: string | undefined;
  /** Why the call was denied, such as by an access rule; the caller does not see it. */
  readonly reason?: string | undefined;
  /** Id of the exception in the log of the server. */
  readonly correlationId?: string | undefined;
  /** Index in its batch. */
  readonly entry?: number | undefined;
  readonly traceId?: string | undefined;
  readonly slow?: true | undefined;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly data?: unknown;
}

const importance: Readonly<Record<keyof Log, number>> = { debug: 0, info: 1, warn: 2, error: 3 };

/** Longest method name and error message in an entry, in characters; callers choose them. */
const longestName = 128;

/**
 * Logs each call of a server or client. A failing log does not fail calls.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { logging } from "callwire/observability";
 *
 * const watched = createServer(methods, {
 *   use: [logging({ slowMs: 500, bodies: { keys: ["password"], maxLength: 1000 } })],
 * });
 * ```
 */
export function logging(options: LoggingOptions = {}): Middleware {
  const { log = lineLog(), level = "info", levelOf = usualLevel, slowMs = 1000 } = options;
  const bodies = options.bodies ?? false;
  const redact = bodies === false ? undefined : redactor(bodies === true ? {} : bodies);
  const least = importance[level];

  const write = (entry: CallEntry): void => {
    const own = levelOf(entry);
    if (own !== undefined && importance[own] >= least) log[own](entry, messageOf(entry));
  };

  const bodiesOf = (message: unknown, reply: Reply | undefined): Partial<CallEntry> | undefined => {
    if (redact === undefined) return undefined;
    const { params } = (message ?? {}) as { params?: unknown };
    const { result, error } = reply ?? {};
    return {
      params: params === undefined ? undefined : redact(params, "params"),
      result: result === undefined ? undefined : redact(result, "result"),
      data: error?.data === undefined ? undefined : redact(error.data, "error.data"),
    };
  };

  const answered = (event: Answered): void => {
    const { message, origin, context, error, durationMs } = event;
    const { id, method } = headOf(message);
    const { correlationId, reason } = (error ?? {}) as Undisclosed;
    // A stream lasts as long as it is read.
    const isSlow = durationMs > slowMs && context?.incoming?.isStream !== true;
    write({
      side: "in",
      id,
      method,
      transport: origin.transport.kind,
      connection: origin.serial,
      principal: (context ?? origin).principal?.id,
      durationMs: rounded(durationMs),
      requestSize: event.requestLength,
      replySize: event.replyLength,
      outcome: entryOutcome(error, context),
      code: error?.code,
      error: error === undefined ? undefined : short(error.message),
      reason,
      correlationId,
      entry: event.entry,
      traceId: traceOf(message, context, origin.transport),
      slow: isSlow ? true : undefined,
      ...bodiesOf(message, event.reply),
    });
  };

  const passed = (
    request: Request,
    context: Context,
    next: Handle,
    isMade: boolean,
  ): ReturnType<Handle> =>
    settled(
      () => next(request, context),
      (durationMs, reply, thrown) => {
        write({
          side: isMade ? "out" : "in",
          id: request.id,
          method: short(request.method),
          transport: isMade ? undefined : context.transport.kind,
          principal: context.principal?.id,
          durationMs: rounded(durationMs),
          outcome: thrown !== undefined ? "failed" : reply?.error === undefined ? "ok" : "error",
          code: thrown?.code ?? reply?.error?.code,
          error: short((thrown ?? reply?.error)?.message),
          reason: (reply?.error as Undisclosed | undefined)?.reason,
          correlationId: (reply?.error as Undisclosed | undefined)?.correlationId,
          traceId: rememberedTrace(context),
          slow: durationMs > slowMs ? true : undefined,
          ...bodiesOf(request, reply),
        });
      },
    );

  const middleware = (next: Handle): Handle => {
    return (request, context) => {
      const side = sideOf(context);
      return side === "watched"
        ? next(request, context)
        : passed(request, context, next, side === "outgoing");
    };
  };
  return Object.assign(middleware, { watch: () => ({ answered }), onlyWatches: true });
}

/** Errors caused by the caller are warnings; internal errors and failed calls are errors. */
function usualLevel({ outcome, code, slow }: CallEntry): keyof Log {
  if (outcome === "failed" || code === ErrorCode.InternalError) return "error";
  return (outcome === "ok" || outcome === "cancelled") && slow === undefined ? "info" : "warn";
}

function messageOf({ outcome, slow }: CallEntry): string {
  const ended = outcome === "refused" || outcome === "cancelled" ? outcome : "failed";
  const what = outcome === "ok" ? "call" : `call ${ended}`;
  return slow === undefined ? what : `slow ${what}`;
}

function entryOutcome(
  error: ErrorObject | undefined,
  context: Context | undefined,
): CallEntry["outcome"] {
  if (error === undefined) return "ok";
  if (context === undefined) return "refused";
  return error.code === ErrorCode.RequestCancelled ? "cancelled" : "error";
}

/** Id and method of a message, which may be malformed. */
function headOf(message: unknown): { id: Id | undefined; method: string | undefined } {
  const { id, method } = (message ?? {}) as Record<string, unknown>;
  return {
    id: typeof id === "number" || id === null ? id : typeof id === "string" ? short(id) : undefined,
    method: typeof method === "string" ? short(method) : undefined,
  };
}

function traceOf(
  message: unknown,
  context: Context | undefined,
  transport: Transport,
): string | undefined {
  const own = rememberedTrace(context);
  if (own !== undefined || context === undefined) return own;
  const came = traceContextOf(message as Request, transport);
  return came === undefined ? undefined : traceIdOf(came.traceparent);
}

function short(text: string): string;
function short(text: string | undefined): string | undefined;
function short(text: string | undefined): string | undefined {
  return text === undefined || text.length <= longestName ? text : `${text.slice(0, longestName)}…`;
}

function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
