import type { OpenrpcDocument } from "../openrpc/specification.ts";
import type { Clock } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type { Link } from "../protocol/link.ts";
import type { Log } from "../protocol/log.ts";
import type { Request } from "../protocol/message.ts";
import type { Version } from "../protocol/parse.ts";
import type { Running } from "../protocol/running.ts";
import type { Service } from "../protocol/service.ts";
import { type Balance, type Choose, chooser } from "./balance.ts";
import type { BreakerOptions } from "./circuit-breaker.ts";
import { descriptionIn } from "./discovery.ts";
import { isWireHeader } from "./forwarded-headers.ts";
import { ask, type HealthCheckOptions, type HealthWatch, watchHealth } from "./health-check.ts";
import type { Route } from "./routes.ts";
import { Target } from "./target.ts";

/** Creates the link to one target. The service, if given, answers the calls of the target. */
export type Connect = (service?: Service) => Link;

/** One server, or several equal ones, behind the gateway. */
export interface UpstreamConfig {
  /** The targets by name; each creates a link such as `webSocketLink(url, { service })`. */
  readonly targets: Readonly<Record<string, Connect>>;
  /** How calls are spread over the targets. @default "round-robin" */
  readonly balance?: Balance;
  /**
   * "connection" opens one connection to the target for each connection of a caller, so that the target can call back and
   * push. Callers that cannot be called back, as over HTTP, share one. @default "gateway"
   */
  readonly per?: "gateway" | "connection";
  /**
   * With `per: "connection"`, most such connections for each target; further callers get -32005. Stops callers from
   * opening any number of connections or processes. @default no limit but that of the gateway's own connections
   */
  readonly maxConnections?: number;
  /** The JSON-RPC version of its servers. @default "2.0" */
  readonly version?: Version;
  /** Headers of the caller to forward, if the transport has headers; servers then see credentials in them. @default none */
  readonly forwardHeaders?: readonly string[];
  /** How targets are checked; false disables checks. @default every 10 s */
  readonly healthCheck?: HealthCheckOptions | false;
  /** Whether the gateway is not ready while no target of this upstream is available. @default false */
  readonly required?: boolean;
  /** When calls to a failing target stop. @default after 5 failures in a row, for up to 1 s */
  readonly circuitBreaker?: BreakerOptions;
}

interface Surroundings {
  readonly running: Running;
  readonly log: Log;
  /** Called when a target becomes available. */
  readonly returned: (upstream: Upstream) => void;
}

/** The targets of one upstream, and which of them are available. */
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
        `a target of "${name}" must be a function that returns a link: () => httpLink(url)`,
      );
    }
    const shared = {
      upstream: name,
      config,
      running,
      log,
      returned: () => returned(this),
      lost: (target: Target) => this.#health?.suspect(target),
    };
    this.targets = Object.entries(config.targets ?? {}).map(
      ([target, connect]) => new Target({ name: target, connect, ...shared }),
    );
    if (this.targets.length === 0) throw new TypeError(`the upstream "${name}" has no targets`);
    const { healthCheck, version } = config;
    this.#health =
      healthCheck === false ? undefined : watchHealth(this.targets, version, clock, healthCheck);
  }

  /** Resolves after the first health check of each target. */
  get looked(): Promise<void> | undefined {
    return this.#health?.begun;
  }

  /** Whether one of its targets is available. */
  get isUp(): boolean {
    return this.targets.some(({ isUp }) => isUp);
  }

  /** The description of the first target that has one. All are asked at once, since several may not answer. */
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

  /** Calls of a route in progress, including those from an earlier config with the same route. */
  inFlight({ config }: Route): number {
    return this.#byRoute.get(config.method) ?? 0;
  }

  /** A call starts; it may try several targets. */
  enter(route: Route): void {
    this.#byRoute.set(route.config.method, this.inFlight(route) + 1);
  }

  /** A call has ended. */
  leave(route: Route): void {
    const left = this.inFlight(route) - 1;
    if (left > 0) this.#byRoute.set(route.config.method, left);
    else this.#byRoute.delete(route.config.method);
    if (this.#byRoute.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
  }

  /** Resolves when no call is in progress. */
  idle(): Promise<void> {
    return this.#byRoute.size === 0
      ? Promise.resolve()
      : new Promise((resolve) => this.#idle.push(resolve));
  }

  /** The target for the next attempt, or undefined if none is left. */
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

  /** Targets with an open circuit, or tried before: better than failing a call that reached no target. */
  #spares(fresh: readonly Target[], tried: readonly Target[], trouble: Trouble): Target[] {
    if (trouble === "none") return [];
    // A target that was down may be back by now, but don't retry the same target forever.
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

/** The failure of earlier attempts: no connection, or a server that is stopping, in which case others may just have restarted. */
export type Trouble = "none" | "away" | "stopping";

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

/** Rejects settings that would silently mean something else, or that would break calls. */
function checkUpstream(name: string, config: UpstreamConfig): void {
  const { healthCheck, circuitBreaker = {}, forwardHeaders = [], per, version } = config;
  const { maxConnections, required } = config;
  const check = (isRight: boolean, sentence: string): void => {
    if (!isRight) throw new TypeError(`the upstream "${name}": ${sentence}`);
  };
  const oneOf = (value: unknown, ...known: unknown[]): boolean =>
    value === undefined || known.includes(value);
  check(oneOf(per, "gateway", "connection"), `per must be "gateway" or "connection", not "${per}"`);
  check(oneOf(version, "1.0", "2.0"), `version must be "1.0" or "2.0", not "${version}"`);
  check(oneOf(required, true, false), `required must be true or false, not ${required}`);
  const { everyMs, timeoutMs } = healthCheck || {};
  const { failures, coolDownMs } = circuitBreaker;
  for (const [setting, value] of Object.entries({
    everyMs,
    timeoutMs,
    failures,
    coolDownMs,
    maxConnections,
  })) {
    // Zero would check without a pause, or never open the circuit.
    const isRight = value === undefined || (typeof value === "number" && value > 0);
    check(isRight, `${setting} must be a number above 0, not ${value}`);
  }
  check(Array.isArray(forwardHeaders), "forwardHeaders must be an array of header names");
  for (const header of forwardHeaders) {
    check(headerName.test(header), `forwardHeaders: "${header}" is not a header name`);
    // A caller could break calls with it, so that the target seems to fail.
    check(
      !isWireHeader(header),
      `forwardHeaders: "${header}" cannot be forwarded; each transport writes it itself`,
    );
  }
}
