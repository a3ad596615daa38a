import {
  type Attributes,
  type Context as OtelContext,
  context as otelContext,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import type { Context } from "../../protocol/context.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import type { Outgoing } from "../../protocol/link.ts";
import type { ErrorObject, MaybePromise, Reply, Request } from "../../protocol/message.ts";
import type { Service } from "../../protocol/service.ts";
import { traceContextOf } from "../../protocol/trace-context.ts";
import type { Watch } from "../../protocol/watch.ts";
import { settled } from "../client-call.ts";
import { rememberTrace } from "../remembered-trace.ts";
import { sideOf } from "../side.ts";
import {
  type Conventions,
  callAttributes,
  errorAttributes,
  otherMethod,
  transportAttributes,
} from "./attributes.ts";

export interface TracingOptions {
  /** Makes the tracer. @default the global one, which does nothing until an SDK is registered */
  readonly tracerProvider?: TracerProvider;
  /** Names of attributes: the current ones, those before 1.38 of the conventions, or both. @default "current" */
  readonly conventions?: Conventions;
  /** Where the trace context of calls that are made stands: in envelope or header, or in the `_meta` of their params as MCP has it. @default "envelope" */
  readonly carrier?: "envelope" | "meta";
  /** Added to every span, such as `server.address` on a client. */
  readonly attributes?: Attributes;
  /** Most items of a stream that become events of its span. @default 128 */
  readonly maxItemEvents?: number;
}

type Carrier = Record<string, string>;

/**
 * Makes a span of every call that is answered or made, and carries the trace on.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { tracing } from "callwire/observability/otel";
 *
 * const watched = createServer(methods, { use: [tracing({ attributes: { team: "billing" } })] });
 * ```
 */
export function tracing(options: TracingOptions = {}): Middleware {
  const provider = options.tracerProvider ?? trace;
  const isIdle = options.tracerProvider === undefined ? noSdk : () => false;
  const tracer = new CallTracer(provider.getTracer("callwire"), options);
  const middleware = (next: Handle): Handle => {
    return (request, context) => {
      if (isIdle()) return next(request, context);
      return sideOf(context) === "made"
        ? tracer.call(request, context, next)
        : tracer.answer(request, context, next);
    };
  };
  return Object.assign(middleware, { watch: (service: Service) => tracer.watch(service) });
}

class CallTracer {
  readonly #tracer: Tracer;
  readonly #conventions: Conventions;
  readonly #carrier: "envelope" | "meta";
  readonly #attributes: Attributes | undefined;
  readonly #maxItems: number;
  /** The spans of calls that are being answered, and how many items each has sent. */
  readonly #open = new WeakMap<Context, { readonly span: Span; items: number }>();

  readonly #services = new Set<Service>();

  constructor(tracer: Tracer, options: TracingOptions) {
    this.#tracer = tracer;
    this.#conventions = options.conventions ?? "current";
    this.#carrier = options.carrier ?? "envelope";
    this.#attributes = options.attributes;
    this.#maxItems = options.maxItemEvents ?? 128;
  }

  /** Hears how calls ended; only the answerer knows of time-outs and of replies that cannot be written. */
  watch(service: Service): Watch {
    this.#services.add(service);
    service.onClose(() => this.#services.delete(service));
    return {
      untimed: true,
      answered: ({ context, error }) => {
        const open = context && this.#open.get(context);
        if (open !== undefined) this.#end(open.span, error);
      },
      item: (context) => {
        const open = this.#open.get(context);
        if (open !== undefined) this.#item(open.span, ++open.items, "SENT");
      },
      callBack: (request, send) =>
        // A client that traces has made its own span.
        request.traceparent === undefined ? this.#out(request, send) : send(request),
    };
  }

  answer(request: Request, context: Context, next: Handle): ReturnType<Handle> {
    const parent = this.#extracted(request, context);
    const span = this.#start(request, this.#known(request.method), SpanKind.SERVER, parent);
    const { traceId } = span.spanContext();
    if (traceId === noTrace) return next(request, context);
    rememberTrace(context, traceId);
    if (span.isRecording()) span.setAttributes(transportAttributes(context.transport));
    const active = trace.setSpan(parent, span);
    // Whoever passes the request on, such as a gateway, passes on this span as its parent.
    const own = this.#injected(request, active, "envelope");
    const run = (): MaybePromise<Reply | undefined> =>
      otelContext.with(active, () => next(own, context));
    if (!span.isRecording()) return run();
    if (sideOf(context) === "told") {
      this.#open.set(context, { span, items: 0 });
      return run();
    }
    return settled(run, (_, reply) => this.#end(span, reply?.error));
  }

  call(request: Request, context: Context, next: Handle): ReturnType<Handle> {
    return this.#out(request, (own, span) => {
      if (span !== undefined) {
        rememberTrace(context, span.spanContext().traceId);
        if (span.isRecording()) this.#hearItems(context, span);
      }
      return next(own, context);
    });
  }

  /** A call that leaves this process, in a span of its own. */
  #out<R extends MaybePromise<Reply | undefined>>(
    request: Request,
    send: (request: Request, span?: Span) => R,
  ): R {
    const parent = otelContext.active();
    const span = this.#start(request, request.method, SpanKind.CLIENT, parent);
    if (span.spanContext().traceId === noTrace) return send(request);
    const active = trace.setSpan(parent, span);
    const own = this.#injected(request, active, this.#carrier);
    return settled(
      () => otelContext.with(active, () => send(own, span)),
      (_, reply, thrown) => {
        if (thrown !== undefined) this.#fail(span, `${thrown.code}`, thrown.message);
        else this.#end(span, reply?.error);
      },
    ) as R;
  }

  #start(request: Request, method: string, kind: SpanKind, parent: OtelContext): Span {
    const known = callAttributes(request, method, this.#conventions);
    const attributes = this.#attributes === undefined ? known : { ...known, ...this.#attributes };
    // Names must be few, so a method that nobody has gives none.
    const name = method === otherMethod ? "jsonrpc" : method;
    return this.#tracer.startSpan(name, { kind, attributes }, parent);
  }

  /** The name of a method that some server here has; callers make up others. */
  #known(method: string): string {
    if (this.#services.size === 0) return method;
    for (const service of this.#services) if (service.hasMethod?.(method) !== false) return method;
    return otherMethod;
  }

  #extracted(request: Request, { transport }: Context): OtelContext {
    const active = otelContext.active();
    // Reading headers costs, and without a propagator it would be for nothing.
    if (propagation.fields().length === 0) return active;
    const came = traceContextOf(request, transport);
    if (came === undefined) return active;
    const { traceparent, tracestate } = came;
    const carrier: Carrier = { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
    return propagation.extract(active, carrier);
  }

  #injected(request: Request, active: OtelContext, place: "envelope" | "meta"): Request {
    const carrier: Carrier = {};
    propagation.inject(active, carrier);
    const { traceparent, tracestate } = carrier;
    if (traceparent === undefined) return request;
    const said = { traceparent, ...(tracestate === undefined ? {} : { tracestate }) };
    const { params = {} } = request;
    if (place === "envelope" || Array.isArray(params)) return { ...request, ...said };
    const { _meta } = params as { _meta?: object };
    return { ...request, params: { ...params, _meta: { ..._meta, ...said } } };
  }

  #hearItems(context: Context, span: Span): void {
    const outgoing = context as Context & Partial<Outgoing>;
    const { item } = outgoing;
    if (item === undefined) return;
    let items = 0;
    const heard: Outgoing["item"] = (value, give) => {
      this.#item(span, ++items, "RECEIVED");
      return item.call(context, value, give);
    };
    outgoing.item = heard;
  }

  #item(span: Span, number: number, direction: "SENT" | "RECEIVED"): void {
    if (number > this.#maxItems) return;
    span.addEvent("rpc.message", { "rpc.message.type": direction, "rpc.message.id": number });
  }

  #end(span: Span, error: ErrorObject | undefined): void {
    if (error !== undefined) {
      span.setAttributes(errorAttributes(error, this.#conventions));
      span.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    }
    span.end();
  }

  #fail(span: Span, type: string, message: string): void {
    span.setAttribute("error.type", type);
    span.setStatus({ code: SpanStatusCode.ERROR, message });
    span.end();
  }
}

const idleProvider = new ProxyTracerProvider().getDelegate();

/** Whether nobody registered an SDK so far; asked first, because a span that goes nowhere costs too. */
function noSdk(): boolean {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  return provider.getDelegate?.() === idleProvider;
}

/** The id of spans that no SDK made. */
const noTrace = "00000000000000000000000000000000";
