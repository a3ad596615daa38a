import type { Request } from "./message.ts";
import type { Transport } from "./origin.ts";

/** W3C trace context as sent. */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string | undefined;
  readonly baggage?: string | undefined;
}

/** Longest `tracestate` that is passed on; the recommendation asks for at least 512. */
const longestState = 1024;

/** Longest `baggage` that is passed on; the recommendation asks for at least 8192. */
const longestBaggage = 8192;

/**
 * The trace context of a call: from its envelope, from the `_meta` of its params as in MCP, or from headers.
 * @example
 * ```ts
 * import type { Middleware } from "callwire";
 * import { traceContextOf } from "callwire/observability";
 *
 * const traced: Middleware = (next) => (request, context) => {
 *   console.log(request.method, traceContextOf(request, context.transport)?.traceparent);
 *   return next(request, context);
 * };
 * ```
 */
export function traceContextOf(request: Request, transport: Transport): TraceContext | undefined {
  if (request.traceparent !== undefined) return stated(request as Stated);
  const { params } = request;
  if (params !== undefined && params !== null && !Array.isArray(params)) {
    const meta = (params as { _meta?: unknown })._meta;
    if (typeof meta === "object" && meta !== null) {
      if ((meta as Stated).traceparent !== undefined) return stated(meta);
    }
  }
  // The headers of a WebSocket belong to its upgrade, which may be days old.
  if (transport.kind === "websocket") return undefined;
  // Most requests have none, and making all headers would take longer than the rest of a log entry.
  if (transport.header !== undefined && transport.header("traceparent") === undefined)
    return undefined;
  const { headers } = transport;
  return headers.traceparent === undefined ? undefined : stated(headers);
}

type Stated = { readonly [Name in keyof TraceContext]?: unknown };

function stated({ traceparent, tracestate, baggage }: Stated): TraceContext | undefined {
  if (typeof traceparent !== "string" || traceIdOf(traceparent) === undefined) return undefined;
  return {
    traceparent,
    tracestate: stringUpTo(longestState, tracestate),
    baggage: stringUpTo(longestBaggage, baggage),
  };
}

function stringUpTo(most: number, value: unknown): string | undefined {
  return typeof value === "string" && value.length <= most ? value : undefined;
}

const form = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * The trace id; undefined if `traceparent` is invalid.
 * @example
 * ```ts
 * import { traceIdOf } from "callwire/observability";
 *
 * traceIdOf("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"); // 0af7651916cd43dd8448eb211c80319c
 * ```
 */
export function traceIdOf(traceparent: string): string | undefined {
  if (traceparent.length < 55 || traceparent.length > 256) return undefined;
  const [, trace = "", parent = "", more] = form.exec(traceparent) ?? [];
  if (trace === "" || /^0+$/.test(trace) || /^0+$/.test(parent)) return undefined;
  const version = traceparent.slice(0, 2);
  return version === "ff" || (version === "00" && more !== undefined) ? undefined : trace;
}
