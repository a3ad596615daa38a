import type { OpenrpcDocument } from "../openrpc/specification.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import { isExactly, serverBusy, shuttingDown, WireError } from "../protocol/errors.ts";
import type { Link } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import type { Reply, Request } from "../protocol/message.ts";
import type { Version } from "../protocol/parse.ts";
import type { Running } from "../protocol/running.ts";
import type { Service } from "../protocol/service.ts";
import { type Balance, type Choose, chooser } from "./balance.ts";
import type { BreakerOptions } from "./circuit-breaker.ts";
import { descriptionIn } from "./discovery.ts";
import { noConnection } from "./failures.ts";
import { ask, type HealthCheckOptions, type HealthWatch, watchHealth } from "./health-check.ts";
import type { Route } from "./routes.ts";
import { Target } from "./target.ts";
import { checkUpstream } from "./upstream-check.ts";

/** Makes the way to one target. The service, where there is one, answers what the target calls. */
export type Connect = (service?: Service) => Link;

/** A server, or several that do the same, behind the gateway. */
export interface UpstreamConfig {
  /** The targets by name; each makes a link such as `webSocketLink(url, { service })`. */
  readonly targets: Readonly<Record<string, Connect>>;
  /** How calls are spread over the targets. @default "round-robin" */
  readonly balance?: Balance;
  /**
   * "connection" gives each caller's connection one of its own to the target, so that the target can
   * call back and push. Callers that cannot be called back, or do not stay as over HTTP, share one. @default "gateway"
   */
  readonly per?: "gateway" | "connection";
  /**
   * With `per: "connection"`, most connections that callers have to themselves, for each target. Further callers are
   * refused with -32005. Without it each caller costs one, which may be a process. @default no limit but that of the
   * gateway's own connections
   */
  readonly maxConnections?: number;
  /** Which version it speaks. @default "2.0" */
  readonly version?: Version;
  /** Headers of the caller that go on to it, on wires that have them. @default none */
  readonly forwardHeaders?: readonly string[];
  /** false asks nothing. @default every 10 s */
  readonly healthCheck?: HealthCheckOptions | false;
  /**
   * When a failing target is left alone; stops calls from piling up at it. @default after 5 failures in a row, for
   * at most 1 s
   */
  readonly circuitBreaker?: BreakerOptions;
}

interface Surroundings {
  readonly running: Running;
  readonly log: Log;
  /** Hears that a target is there which was not. */
  readonly returned: (upstream: Upstream) => void;
}

/** The targets of one upstream, and which of them can be called. */
export class Upstream {
  readonly name: string;
  readonly config: UpstreamConfig;
  readonly targets: readonly Target[];
  readonly #clock: Clock;
  readonly #choose: Choose;
  readonly #health: HealthWatch | undefined;
  /** How many calls are in progress, by the method of their route. */
  readonly #byRoute = new Map<string, number>();
  readonly #idle: (() => void)[] = [];

  constructor(name: string, config: UpstreamConfig, { running, log, returned }: Surroundings) {
    const { clock } = running;
    this.name = name;
    this.config = config;
    this.#clock = clock;
    this.#choose = chooser(config.balance);
    checkUpstream(name, config);
    for (const connect of Object.values(config.targets ?? {})) {
      if (typeof connect === "function") continue;
      throw new TypeError(
        `a target of "${name}" is a function that gives a link: () => httpLink(url)`,
      );
    }
    const shared = {
      upstream: name,
      config,
      running,
      log,
      returned: () => returned(this),
    };
    this.targets = Object.entries(config.targets ?? {}).map(
      ([target, connect]) => new Target({ name: target, connect, ...shared }),
    );
    if (this.targets.length === 0) throw new TypeError(`the upstream "${name}" has no targets`);
    const { healthCheck, version } = config;
    this.#health =
      healthCheck === false ? undefined : watchHealth(this.targets, version, clock, healthCheck);
  }

  /** Resolves when it was looked which targets are there. */
  get looked(): Promise<void> | undefined {
    return this.#health?.begun;
  }

  /** Whether one of its targets is there. */
  get isUp(): boolean {
    return this.targets.some(({ isUp }) => isUp);
  }

  /** What the first target that describes itself says; they all do the same. Asked together, since several may keep silent. */
  async document(timeoutMs: number): Promise<OpenrpcDocument | undefined> {
    const { version } = this.config;
    const answers = this.targets.map(({ link }) =>
      ask(link, "rpc.discover", version, timeoutMs, this.#clock).then(
        (reply) => descriptionIn(reply?.result),
        () => undefined,
      ),
    );
    for (const answer of answers) {
      const document = await answer;
      if (document !== undefined) return document;
    }
    return undefined;
  }

  /** How many calls of a route are in progress. They may be from a config before, which had that route too. */
  inFlight({ config }: Route): number {
    return this.#byRoute.get(config.method) ?? 0;
  }

  /** A call comes, which may try several targets one after the other. */
  enter(route: Route): void {
    this.#byRoute.set(route.config.method, this.inFlight(route) + 1);
  }

  /** It has its answer. */
  leave(route: Route): void {
    const left = this.inFlight(route) - 1;
    if (left > 0) this.#byRoute.set(route.config.method, left);
    else this.#byRoute.delete(route.config.method);
    if (this.#byRoute.size === 0) for (const tell of this.#idle.splice(0)) tell();
  }

  /** Resolves when none of its calls is in progress. */
  idle(): Promise<void> {
    return this.#byRoute.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** The target for the next try, or undefined when there is none left. */
  pick(
    request: Request,
    context: Context,
    tried: readonly Target[],
    trouble: Trouble,
  ): Target | undefined {
    const fresh = this.targets.filter((target) => !tried.includes(target));
    const ready = fresh.filter(({ available }) => available);
    const left = ready.length > 0 ? ready : this.#spares(fresh, tried, trouble);
    return left.length === 0 ? undefined : this.#choose(left, request, context);
  }

  /** Those that are left alone for now, or were tried before: better than to let a call fail that has found nobody. */
  #spares(fresh: readonly Target[], tried: readonly Target[], trouble: Trouble): Target[] {
    if (trouble === "none") return [];
    // One that was away a moment ago may be back by now, but nobody is gone to again and again.
    const isAgain = trouble === "stopping" && tried.length < 2 * this.targets.length - 1;
    const last = tried.at(-1);
    const others = isAgain ? this.targets.filter((target) => target !== last) : fresh;
    return others.filter(({ seemsHealthy }) => seemsHealthy);
  }

  close(): Promise<unknown> {
    this.#health?.stop();
    return Promise.all(this.targets.map((target) => target.close()));
  }
}

/** What a call has met with so far: nobody was there, or a server that stops, so that they may be restarted one after the other. */
export type Trouble = "none" | "away" | "stopping";

/** Whether the call certainly did not run, so that it may go elsewhere whatever it does. */
export function didNotRun(outcome: Reply | WireError): boolean {
  if (outcome instanceof WireError) return outcome.code === "CONNECTION_FAILED";
  const { error } = outcome;
  return [serverBusy, shuttingDown, noConnection].some((ready) => isExactly(error, ready));
}
