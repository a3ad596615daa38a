import type { Clock } from "../protocol/clock.ts";
import { ErrorCode, type RpcErrorOptions } from "../protocol/errors.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import type { Service } from "../protocol/service.ts";
import type { TargetState } from "../protocol/target-state.ts";
import type { Answered, Watch } from "../protocol/watch.ts";
import { CallSeries, durationBounds } from "./call-series.ts";
import { Bounded, Count, type Family, type Series } from "./metric-family.ts";
import { settled, sideOf } from "./observed-call.ts";
import { EventLoopLag, processFamilies } from "./process-metrics.ts";
import { type Exposition, exposition } from "./prometheus.ts";
import { version } from "./version.ts";

export interface MetricsOptions {
  /** Prefix of every metric name. @default "callwire" */
  readonly prefix?: string;
  /** Upper bounds of the duration buckets, in seconds. @default 19 bounds from 0.0001 to 10, with those of OpenTelemetry */
  readonly durationBounds?: readonly number[];
  /** Most methods with a label of their own, per transport; stops callers from creating labels. @default 200 */
  readonly maxMethods?: number;
  /** Measures the lag of the event loop. @default the system clock */
  readonly clock?: Clock;
}

/** The part of a topic of `topic()` that is counted. */
export interface TopicSize {
  /** Number of subscribers. */
  readonly size: number;
  /** Items that wait for slow subscribers. */
  readonly waiting: number;
}

/** Callbacks of a link that reconnects. */
export interface ReconnectHooks<Connection> {
  /** Called with each new connection. */
  readonly onConnect?: (connection: Connection) => unknown;
  /** Called when a connection is lost. */
  readonly onLost?: (error: Error) => void;
}

/** Label for methods that the server does not have. */
const unknownLabel = "(unknown)";
/** Label for messages without a readable method. */
const noneLabel = "(none)";

/** Metrics of servers and clients, for Prometheus and other readers of `families`. */
export class Metrics {
  /** Counts the calls of each server and client that uses it. */
  readonly middleware: Middleware;
  readonly #prefix: string;
  readonly #server: CallSeries;
  readonly #client: CallSeries;
  readonly #services = new Set<Service>();
  readonly #connections = new Bounded(20, () => new Count());
  readonly #refused = new Bounded(50, () => new Count());
  readonly #reconnects = new Bounded(50, () => new Count());
  readonly #topics = new Map<string, TopicSize>();
  readonly #targets: (() => Iterable<TargetState>)[] = [];
  readonly #lag: EventLoopLag;
  #streams = 0;
  #items = 0;
  #queued = 0;
  #rateLimited = 0;
  #shed = 0;
  #calling = 0;

  constructor(options: MetricsOptions = {}) {
    const {
      prefix = "callwire",
      maxMethods = 200,
      durationBounds: bounds = durationBounds,
    } = options;
    this.#prefix = prefix;
    this.#server = new CallSeries(maxMethods, bounds);
    this.#client = new CallSeries(maxMethods, bounds);
    this.#lag = new EventLoopLag(options.clock);
    this.middleware = Object.assign((next: Handle) => this.#countCalls(next), {
      watch: (service: Service) => this.#watch(service),
      onlyWatches: true,
    });
  }

  /** Adds the subscribers and waiting items of a topic. */
  topic(name: string, topic: TopicSize): void {
    this.#topics.set(name, topic);
  }

  /** Adds the targets of a gateway: `metrics.targets(() => gateway.targets())`. */
  targets(source: () => Iterable<TargetState>): void {
    this.#targets.push(source);
  }

  /** Reconnect options of a link that count its reconnects: `{ reconnect: metrics.reconnects("billing") }`. */
  reconnects<Connection, Options extends ReconnectHooks<Connection>>(
    link: string,
    options?: Options,
  ): Options & ReconnectHooks<Connection> {
    const count = this.#reconnects.at(link);
    let lost = false;
    return {
      ...(options as Options),
      onConnect: (connection: Connection) => {
        if (lost) count.value++;
        lost = false;
        return options?.onConnect?.(connection);
      },
      onLost: (error: Error) => {
        lost = true;
        options?.onLost?.(error);
      },
    };
  }

  /** The answer to a scrape; `accept` is the header of that name. */
  text(accept?: string): Exposition {
    return exposition(this.families(), accept);
  }

  /** Stops the timer that measures the event loop. */
  close(): void {
    this.#lag.stop();
  }

  /** All metrics with their current values. */
  families(): Family[] {
    const family = (
      kind: "counter" | "gauge",
      name: string,
      help: string,
      series: number | readonly Series<number>[],
    ): Family => ({
      kind,
      name: `${this.#prefix}_${name}`,
      help,
      series: typeof series === "number" ? [{ labels: {}, value: series }] : series,
    });
    let inFlight = 0;
    for (const { running } of this.#services) inFlight += running.size;
    const topics = [...this.#topics];
    const subscriptions = topics.map(([topic, { size }]) => ({ labels: { topic }, value: size }));
    const queues = topics.map(([topic, { waiting }]) => ({
      labels: { queue: `topic ${topic}` },
      value: waiting,
    }));
    const batches = { labels: { queue: "batch" }, value: this.#queued };
    return [
      ...this.#server.families(this.#prefix, "Calls answered"),
      ...this.#client.families(`${this.#prefix}_client`, "Calls made"),
      ...this.#server.sizeFamilies(this.#prefix),
      family("gauge", "calls_in_flight", "Calls that are being answered.", inFlight),
      family("gauge", "client_calls_in_flight", "Calls that wait for an answer.", this.#calling),
      family("gauge", "connections", "Open connections.", counted("transport", this.#connections)),
      family("gauge", "streams", "Open streams.", this.#streams),
      family("counter", "stream_items", "Stream items that were sent.", this.#items),
      family("gauge", "subscriptions", "Subscribers of topics.", subscriptions),
      family("gauge", "queue_depth", "Waiting batch entries and topic items.", [
        batches,
        ...queues,
      ]),
      family("counter", "rate_limited", "Calls refused by a rate limit.", this.#rateLimited),
      family("counter", "shed", "Calls refused because the server is full or stops.", this.#shed),
      family(
        "counter",
        "refused_requests",
        "HTTP requests refused before their body was read, by status.",
        counted("status", this.#refused),
      ),
      family(
        "counter",
        "reconnects",
        "Connections that were lost and opened again.",
        counted("link", this.#reconnects),
      ),
      ...(this.#targets.length === 0
        ? []
        : targetFamilies(
            this.#prefix,
            this.#targets.flatMap((source) => [...source()]),
          )),
      family(
        "gauge",
        "event_loop_lag_seconds",
        "Longest delay of a timer since the last scrape.",
        this.#lag.take(),
      ),
      family("gauge", "build_info", "The version of callwire.", [
        { labels: { version }, value: 1 },
      ]),
      ...processFamilies(),
    ];
  }

  #watch(service: Service): Watch {
    this.#services.add(service);
    service.onClose(() => this.#services.delete(service));
    this.#lag.start();
    return {
      answered: (event) => this.#answered(event, service),
      stream: (_, change) => {
        this.#streams += change;
      },
      item: () => {
        this.#items++;
      },
      connection: (transport, change) => {
        this.#connections.at(transport).value += change;
      },
      queue: (change) => {
        this.#queued += change;
      },
      refused: (_, status) => {
        this.#refused.at(`${status}`).value++;
      },
    };
  }

  #answered(event: Answered, service: Service): void {
    const { error, message, replyLength } = event;
    const series = this.#server.over(event.origin.transport.kind);
    const { method } = (message ?? {}) as { method?: unknown };
    // Only existing methods get a series, so a known series needs no lookup in the service.
    const known = typeof method === "string" ? series.methods.known(method) : undefined;
    const calls = known ?? series.methods.at(labelOf(message, service));
    calls.add(event.durationMs / 1000, error?.code);
    series.requestSizes.observe(event.requestLength);
    if (replyLength > 0) series.replySizes.observe(replyLength);
    if (error === undefined) return;
    if ((error as RpcErrorOptions).status === 429) this.#rateLimited++;
    else if (error.code === ErrorCode.ServerBusy || error.code === ErrorCode.ShuttingDown)
      this.#shed++;
  }

  #countCalls(next: Handle): Handle {
    return (request, context) => {
      const side = sideOf(context);
      if (side === "watched") return next(request, context);
      const isMade = side === "outgoing";
      const calls = isMade
        ? this.#client.over("outbound")
        : this.#server.over(context.transport.kind);
      if (isMade) this.#calling++;
      return settled(
        () => next(request, context),
        (durationMs, reply, thrown) => {
          if (isMade) this.#calling--;
          const code = thrown?.code ?? reply?.error?.code;
          calls.methods.at(request.method).add(durationMs / 1000, code);
        },
      );
    };
  }
}

/**
 * Makes metrics: `createServer(methods, { use: [metrics.middleware] })`.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { serveHttp } from "callwire/http/node";
 * import { createMetrics, metricsPage } from "callwire/observability";
 *
 * const metrics = createMetrics();
 * const watched = createServer(methods, { use: [metrics.middleware] });
 * await serveHttp(watched, { mounts: { "/metrics": metricsPage(metrics) } });
 * ```
 */
export function createMetrics(options?: MetricsOptions): Metrics {
  return new Metrics(options);
}

/** The method's name if the server has it; callers can make up names. */
export function labelOf(message: unknown, service: Service): string {
  const { method } = (message ?? {}) as { method?: unknown };
  if (typeof method !== "string") return noneLabel;
  return service.hasMethod?.(method) === false ? unknownLabel : method;
}

function counted(label: string, counts: Bounded<Count>): Series<number>[] {
  return counts.entries().map(([name, { value }]) => ({ labels: { [label]: name }, value }));
}

/** The metrics of the targets of a gateway. */
function targetFamilies(prefix: string, targets: readonly TargetState[]): Family[] {
  const family = (
    kind: "counter" | "gauge",
    name: string,
    help: string,
    read: (target: TargetState) => number,
  ): Family => ({
    kind,
    name: `${prefix}_target_${name}`,
    help,
    series: targets.map((each) => ({
      labels: { upstream: each.upstream, target: each.target },
      value: read(each),
    })),
  });
  return [
    family("gauge", "up", "Whether a target is available: 1 or 0.", (each) => (each.up ? 1 : 0)),
    family("gauge", "calls_in_flight", "Calls in progress at a target.", (each) => each.inFlight),
    family("counter", "calls", "Calls sent to a target.", (each) => each.calls),
    family("counter", "failures", "Calls that a target did not answer.", (each) => each.failures),
  ];
}
