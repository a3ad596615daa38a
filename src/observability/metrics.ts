import type { Clock } from "../protocol/clock.ts";
import { ErrorCode, type RpcErrorOptions } from "../protocol/errors.ts";
import type { Handle, Middleware } from "../protocol/handle.ts";
import type { Service } from "../protocol/service.ts";
import type { TargetState } from "../protocol/target-state.ts";
import type { Answered, Watch } from "../protocol/watch.ts";
import { CallSeries, durationBounds } from "./call-series.ts";
import { settled } from "./client-call.ts";
import { EventLoopLag } from "./event-loop.ts";
import { Bounded, Count, type Family } from "./family.ts";
import { type Exposition, exposition } from "./prometheus.ts";
import { sideOf } from "./side.ts";
import { targetFamilies } from "./target-families.ts";

export interface MetricsOptions {
  /** Begins every name. @default "callwire" */
  readonly prefix?: string;
  /** Upper bounds of the buckets of durations, in seconds. @default 0.0001 to 10 */
  readonly durationBounds?: readonly number[];
  /** Most methods that have a label of their own, per transport; stops labels made up by callers. @default 200 */
  readonly maxMethods?: number;
  /** The clock that the lag of the event loop is measured with, such as a `FakeClock` in tests. @default systemClock */
  readonly clock?: Clock;
}

/** What a topic of `topic()` tells of itself. */
export interface TopicSize {
  readonly size: number;
  readonly waiting: number;
}

/** What a link that heals tells of its connections. */
export interface ReconnectHooks<Connection> {
  readonly onConnect?: (connection: Connection) => unknown;
  readonly onLost?: (error: Error) => void;
}

/** The label of methods that a server does not have. */
const unknownLabel = "(unknown)";
/** The label of messages of which no method could be read. */
const noneLabel = "(none)";

/** What is counted, for Prometheus and whoever else reads `families`. */
export class Metrics {
  /** Counts the calls of every server and client that uses it. */
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

  /** Counts subscribers of a topic and the items that wait for them. */
  topic(name: string, topic: TopicSize): void {
    this.#topics.set(name, topic);
  }

  /** Shows how what is behind a gateway does: `metrics.targets(() => gateway.targets())`. */
  targets(source: () => Iterable<TargetState>): void {
    this.#targets.push(source);
  }

  /** Options for a link that heals, which count how often it does: `{ reconnect: metrics.reconnects("billing") }`. */
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

  /** What a scrape gets; `accept` is the header of that name. */
  text(accept?: string): Exposition {
    return exposition(this.families(), accept);
  }

  /** Lets go of the timer that measures the event loop. */
  close(): void {
    this.#lag.stop();
  }

  /** Everything that was counted, as it is now. */
  families(): Family[] {
    const prefix = this.#prefix;
    const counter = (name: string, help: string, value: number): Family => ({
      kind: "counter",
      name: `${prefix}_${name}`,
      help,
      series: [{ labels: {}, value }],
    });
    const gauge = (name: string, help: string, value: number): Family =>
      ({
        ...counter(name, help, value),
        kind: "gauge",
      }) as Family;
    let inFlight = 0;
    for (const { running } of this.#services) inFlight += running.size;
    const topics = [...this.#topics];
    return [
      ...this.#server.families(prefix, "Calls answered"),
      ...this.#client.families(`${prefix}_client`, "Calls made"),
      ...this.#server.sizeFamilies(prefix),
      gauge("calls_in_flight", "Calls that are being answered.", inFlight),
      gauge("client_calls_in_flight", "Calls that wait for an answer.", this.#calling),
      {
        kind: "gauge",
        name: `${prefix}_connections`,
        help: "Connections that are open.",
        series: counted("transport", this.#connections),
      },
      gauge("streams", "Streams that are open.", this.#streams),
      counter("stream_items", "Items of streams that were sent.", this.#items),
      {
        kind: "gauge",
        name: `${prefix}_subscriptions`,
        help: "Subscribers of topics.",
        series: topics.map(([topic, { size }]) => ({ labels: { topic }, value: size })),
      },
      {
        kind: "gauge",
        name: `${prefix}_queue_depth`,
        help: "What waits: entries of batches for their turn, items of topics for their readers.",
        series: [
          { labels: { queue: "batch" }, value: this.#queued },
          ...topics.map(([topic, { waiting }]) => ({
            labels: { queue: `topic ${topic}` },
            value: waiting,
          })),
        ],
      },
      counter(
        "rate_limited",
        "Calls refused because their caller makes too many.",
        this.#rateLimited,
      ),
      counter("shed", "Calls refused because the server is full or stops.", this.#shed),
      {
        kind: "counter",
        name: `${prefix}_refused_requests`,
        help: "HTTP requests refused before anything was read, by status.",
        series: counted("status", this.#refused),
      },
      {
        kind: "counter",
        name: `${prefix}_reconnects`,
        help: "Connections that were lost and made again.",
        series: counted("link", this.#reconnects),
      },
      ...(this.#targets.length === 0
        ? []
        : targetFamilies(
            prefix,
            this.#targets.flatMap((source) => [...source()]),
          )),
      gauge(
        "event_loop_lag_seconds",
        "Longest delay of a timer since the last scrape.",
        this.#lag.take(),
      ),
    ];
  }

  #watch(service: Service): Watch {
    this.#services.add(service);
    service.onClose(() => this.#services.delete(service));
    this.#lag.start();
    return {
      answered: (told) => this.#answered(told, service),
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

  #answered(told: Answered, service: Service): void {
    const { error, message, replyLength } = told;
    const series = this.#server.over(told.origin.transport.kind);
    const { method } = (message ?? {}) as { method?: unknown };
    // Only names of methods that there are get a series of their own, so what has one is known.
    const known = typeof method === "string" ? series.methods.known(method) : undefined;
    const calls = known ?? series.methods.at(labelOf(message, service));
    calls.add(told.durationMs / 1000, error?.code);
    series.requestSizes.observe(told.requestLength);
    if (replyLength > 0) series.replySizes.observe(replyLength);
    if (error === undefined) return;
    if ((error as RpcErrorOptions).status === 429) this.#rateLimited++;
    else if (error.code === ErrorCode.ServerBusy || error.code === ErrorCode.ShuttingDown)
      this.#shed++;
  }

  #countCalls(next: Handle): Handle {
    return (request, context) => {
      const side = sideOf(context);
      if (side === "told") return next(request, context);
      const isMade = side === "made";
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

/** A method's name where the server has it; callers make up others. */
export function labelOf(message: unknown, service: Service): string {
  const { method } = (message ?? {}) as { method?: unknown };
  if (typeof method !== "string") return noneLabel;
  return service.hasMethod?.(method) === false ? unknownLabel : method;
}

function counted(
  label: string,
  counts: Bounded<Count>,
): { labels: Record<string, string>; value: number }[] {
  return counts.entries().map(([name, { value }]) => ({ labels: { [label]: name }, value }));
}
