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
import type { CallFacts, Context } from "../../protocol/context.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import type { Outgoing } from "../../protocol/link.ts";
import type { ErrorObject, MaybePromise, Reply, Request } from "../../protocol/message.ts";
import type { Service } from "../../protocol/service.ts";
import { traceContextOf } from "../../protocol/trace-context.ts";
import type { Watch } from "../../protocol/watch.ts";
import { rememberTrace, settled, sideOf } from "../observed-call.ts";
import { version } from "../version.ts";
import {
  type Conventions,
  callAttributes,
  errorAttributes,
  listedMethod,
  otherMethod,
  schemaUrl,
  serverAttributes,
  transportAttributes,
} from "./attributes.ts";

export interface TracingOptions {
  /** Provides the tracer. @default the global one, which does nothing until an SDK is registered */
  readonly tracerProvider?: TracerProvider;
  /** Attribute names: the current ones, those before version 1.39 of the conventions, or both. @default "current" */
  readonly conventions?: Conventions;
  /** Where outgoing calls carry the trace context: in the envelope or header, or in `_meta` of the params as in MCP. @default "envelope" */
  readonly carrier?: "envelope" | "meta";
  /**
   * Names that spans of outgoing calls may have; all others are `_OTHER`. Give it where names come from outside, as in a
   * gateway. Servers know their methods. @default all names
   */
  readonly methods?: readonly string[];
  /** Added to every span, such as `server.address` if the link does not know it. @default none */
  readonly attributes?: Attributes;
  /** Most stream items that become events of a span. @default 128 */
  readonly maxItemEvents?: number;
}

type Carrier = Record<string, string>;

/**
 * Makes a span for each call that is made or answered, and propagates the trace context.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { tracing } from "callwire/observability/otel";
 *
 * const watched = createServer(methods, { use: [tracing({ attributes: { team: "billing" } })] });
 * ```
 */
export function tracing(options: TracingOptions = {}): Middleware {
  const isIdle = options.tracerProvider === undefined ? noSdk : () => false;
  const tracer = new CallTracer(options);
  const middleware = (next: Handle): Handle => {
    return (request, context) => {
      if (isIdle()) return next(request, context);
      return sideOf(context) === "outgoing"
        ? tracer.call(request, context, next)
        : tracer.answer(request, context, next);
    };
  };
  return Object.assign(middleware, { watch: (service: Service) => tracer.watch(service) });
}

class CallTracer {
  readonly #given: TracerProvider | undefined;
  #provider: TracerProvider | undefined;
  #current: Tracer | undefined;
  readonly #conventions: Conventions;
  readonly #carrier: "envelope" | "meta";
  readonly #attributes: Attributes | undefined;
  readonly #maxItems: number;
  readonly #methods: ReadonlySet<string> | undefined;
  /** Spans of calls being answered, with the number of items sent. */
  readonly #open = new WeakMap<Context, { readonly span: Span; items: number }>();

  readonly #services = new Set<Service>();

  constructor(options: TracingOptions) {
    this.#given = options.tracerProvider;
    this.#methods = options.methods && new Set(options.methods);
    this.#conventions = options.conventions ?? "current";
    this.#carrier = options.carrier ?? "envelope";
    this.#attributes = options.attributes;
    this.#maxItems = options.maxItemEvents ?? 128;
  }

  /**
   * The tracer of the current provider. One of a provider that was replaced records nothing: an SDK registers its own if
   * it has another copy of the API.
   */
  get #tracer(): Tracer {
    const provider = this.#given ?? trace.getTracerProvider();
    if (this.#current === undefined || provider !== this.#provider) {
      this.#provider = provider;
      this.#current = provider.getTracer("callwire", version, { schemaUrl });
    }
    return this.#current;
  }

  /** Ends spans: only the watch sees timeouts and replies that cannot be serialized. */
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
        // A client with tracing has already started a span.
        request.traceparent === undefined ? this.#out(request, send) : send(request),
    };
  }

  answer(request: Request, context: Context, next: Handle): ReturnType<Handle> {
    const parent = this.#extracted(request, context);
    const method = this.#known(request.method);
    const span = this.#start(request, method, SpanKind.SERVER, parent, context.facts);
    const { traceId } = span.spanContext();
    if (traceId === noTrace) return next(request, context);
    rememberTrace(context, traceId);
    if (span.isRecording())
      span.setAttributes(transportAttributes(context.transport, this.#conventions));
    const active = trace.setSpan(parent, span);
    // If the request is forwarded, as by a gateway, this span is its parent.
    const own = this.#injected(request, active, "envelope");
    const run = (): MaybePromise<Reply | undefined> =>
      otelContext.with(active, () => next(own, context));
    if (!span.isRecording()) return run();
    if (sideOf(context) === "watched") {
      this.#open.set(context, { span, items: 0 });
      return run();
    }
    return settled(run, (_, reply) => this.#settle(span, reply, context.facts));
  }

  call(request: Request, context: Context, next: Handle): ReturnType<Handle> {
    const send = (own: Request, span?: Span): ReturnType<Handle> => {
      if (span !== undefined) {
        rememberTrace(context, span.spanContext().traceId);
        if (span.isRecording()) this.#countItems(context, span);
      }
      return next(own, context);
    };
    return this.#out(request, send, context);
  }

  /** Sends a call in a client span. */
  #out<R extends MaybePromise<Reply | undefined>>(
    request: Request,
    send: (request: Request, span?: Span) => R,
    { facts, outgoing }: Pick<Context, "facts" | "outgoing"> = {},
  ): R {
    const parent = otelContext.active();
    const method = listedMethod(request.method, this.#methods);
    const server = serverAttributes(outgoing?.link);
    const span = this.#start(request, method, SpanKind.CLIENT, parent, facts, server);
    if (span.spanContext().traceId === noTrace) return send(request);
    const active = trace.setSpan(parent, span);
    const own = this.#injected(request, active, facts === undefined ? this.#carrier : "meta");
    return settled(
      () => otelContext.with(active, () => send(own, span)),
      (_, reply, thrown) => {
        if (thrown !== undefined) this.#fail(span, `${thrown.code}`, thrown.message);
        else this.#settle(span, reply, facts);
      },
    ) as R;
  }

  #start(
    request: Request,
    method: string,
    kind: SpanKind,
    parent: OtelContext,
    facts: CallFacts | undefined,
    server?: Attributes,
  ): Span {
    const known = callAttributes(request, method, this.#conventions);
    const attributes = { ...known, ...server, ...facts?.attributes, ...this.#attributes };
    // Span names must be few, so unknown methods share one.
    const name = facts?.name ?? (method === otherMethod ? "jsonrpc" : method);
    return this.#tracer.startSpan(name, { kind, attributes }, parent);
  }

  /** The method if a server here has it; callers can make up names. */
  #known(method: string): string {
    if (this.#services.size === 0) return method;
    for (const service of this.#services) if (service.hasMethod?.(method) !== false) return method;
    return otherMethod;
  }

  #extracted(request: Request, { transport, facts }: Context): OtelContext {
    const active = otelContext.active();
    // Skips reading headers if there is no propagator.
    if (propagation.fields().length === 0) return active;
    const came = traceContextOf(request, transport);
    if (came === undefined) return active;
    const { traceparent, tracestate, baggage = facts?.baggage } = came;
    const carrier: Carrier = {
      traceparent,
      ...(tracestate === undefined ? {} : { tracestate }),
      ...(baggage === undefined ? {} : { baggage }),
    };
    return propagation.extract(active, carrier);
  }

  #injected(request: Request, active: OtelContext, place: "envelope" | "meta"): Request {
    const carrier: Carrier = {};
    propagation.inject(active, carrier);
    const { traceparent, tracestate, baggage } = carrier;
    if (traceparent === undefined) return request;
    const said = {
      traceparent,
      ...(tracestate === undefined ? {} : { tracestate }),
      ...(baggage === undefined ? {} : { baggage }),
    };
    const { params = {} } = request;
    if (place === "envelope" || Array.isArray(params)) return { ...request, ...said };
    const { _meta } = params as { _meta?: object };
    return { ...request, params: { ...params, _meta: { ..._meta, ...said } } };
  }

  #countItems(context: Context, span: Span): void {
    const { outgoing } = context;
    if (outgoing === undefined) return;
    const { item } = outgoing;
    let items = 0;
    const counted: Outgoing["item"] = (value, give) => {
      this.#item(span, ++items, "RECEIVED");
      return item.call(outgoing, value, give);
    };
    outgoing.item = counted;
  }

  #item(span: Span, number: number, direction: "SENT" | "RECEIVED"): void {
    if (number > this.#maxItems) return;
    const name = this.#conventions === "current" ? "callwire.item" : "rpc.message";
    span.addEvent(name, { [`${name}.type`]: direction, [`${name}.id`]: number });
  }

  /** Ends a span with a reply, which may report a failure as its result. */
  #settle(span: Span, reply: Reply | undefined, facts: CallFacts | undefined): void {
    const failure = reply?.error === undefined ? facts?.failureIn(reply?.result) : undefined;
    if (failure === undefined) this.#end(span, reply?.error);
    else this.#fail(span, failure, "the result reports an error");
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

/** Whether no SDK is registered; checked first, since even a no-op span costs time. */
function noSdk(): boolean {
  const provider = trace.getTracerProvider() as Partial<ProxyTracerProvider>;
  return provider.getDelegate?.() === idleProvider;
}

/** The trace id of no-op spans. */
const noTrace = "00000000000000000000000000000000";
