/** Which upstream the calls of some methods go to. */
export interface RouteConfig<Name extends string = string> {
  /** A full name such as `math/add`, or a prefix with a star: `math/*`, `*`. */
  readonly method: string;
  /** The name of an upstream. */
  readonly to: Name;
  /** The name on the upstream; its star is replaced by what the star of `method` matched. @default the same name */
  readonly rename?: string;
  /** How long a call may run; a hanging server must not hold its callers. @default the gateway's */
  readonly timeoutMs?: number;
  /** Most calls of this route in progress; more get -32005 at once. @default no limit of its own */
  readonly maxInFlight?: number;
  /**
   * Whether its methods may run twice, so that a call that may have run is sent to another target.
   * @default what the upstream's own description says
   */
  readonly idempotent?: boolean;
  /** Most attempts of one call, the first included. @default 3 */
  readonly attempts?: number;
}

/** The error of an invalid route; its cause is the route, so that the command line can name its place in the file. */
export function routeFault(route: RouteConfig, sentence: string): TypeError {
  return new TypeError(`the route "${route.method}"${sentence}`, { cause: route });
}

/** One route, and the names of its methods on the gateway and on the upstream. */
export class Route {
  readonly config: RouteConfig;
  readonly #prefix: string | undefined;
  readonly #there: string;

  constructor(config: RouteConfig) {
    const { method, rename = method } = config;
    if (stars(method) > 1 || (stars(method) === 1 && !method.endsWith("*"))) {
      throw routeFault(config, `: method may have one star, at its end`);
    }
    if (stars(rename) !== stars(method) || (stars(rename) === 1 && !rename.endsWith("*"))) {
      throw routeFault(config, `: rename must end with a star if method does, and only then`);
    }
    for (const name of [method, rename]) {
      if (!staysHere(name)) continue;
      throw routeFault(
        config,
        `: names that begin with "rpc." or "$/" are reserved for the gateway`,
      );
    }
    for (const name of ["timeoutMs", "maxInFlight", "attempts"] as const) {
      const value = config[name];
      if (value === undefined || value > 0) continue;
      throw routeFault(config, `: ${name} must be a number above 0, not ${value}`);
    }
    this.config = config;
    this.#prefix = method.endsWith("*") ? method.slice(0, -1) : undefined;
    this.#there = rename.endsWith("*") ? rename.slice(0, -1) : rename;
  }

  /** How specific the route is; a full name is more specific than any prefix. */
  get closeness(): number {
    return this.#prefix === undefined ? Number.POSITIVE_INFINITY : this.#prefix.length;
  }

  takes(method: string): boolean {
    if (this.#prefix === undefined) return method === this.config.method;
    // A rename may produce a reserved name.
    return method.startsWith(this.#prefix) && !staysHere(method) && !staysHere(this.there(method));
  }

  /** The name of a method on the upstream. */
  there(method: string): string {
    return this.#prefix === undefined
      ? this.#there
      : this.#there + method.slice(this.#prefix.length);
  }

  /** The name on the gateway of a method of the upstream, if this route leads to it. */
  here(method: string): string | undefined {
    if (this.#prefix === undefined) return method === this.#there ? this.config.method : undefined;
    if (!method.startsWith(this.#there)) return undefined;
    const name = this.#prefix + method.slice(this.#there.length);
    return this.takes(name) ? name : undefined;
  }
}

/**
 * Finds the most specific route of a method. Among equals it is the one whose upstream describes the method, else one
 * whose upstream has no description.
 */
export class Routes {
  readonly all: readonly Route[];
  /** The route of each method that an upstream describes. */
  readonly #described: ReadonlyMap<string, Route>;

  constructor(
    routes: readonly Route[],
    described: ReadonlyMap<string, Route>,
    isSilent: (route: Route) => boolean,
  ) {
    this.all = [...routes].sort(
      (a, b) =>
        compare(b.closeness, a.closeness) || compare(Number(isSilent(b)), Number(isSilent(a))),
    );
    this.#described = described;
  }

  /** Not cached: callers can make up names, and each would keep the message that it came in. */
  find(method: string): Route | undefined {
    return this.#described.get(method) ?? this.all.find((route) => route.takes(method));
  }
}

/**
 * Whether a name is never forwarded. `rpc.` is reserved by JSON-RPC. `$/` names notifications about calls, and as callers
 * share the connection to an upstream, any of them could cancel the calls of others.
 */
function staysHere(method: string): boolean {
  return method.startsWith("rpc.") || method.startsWith("$/");
}

function compare(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function stars(pattern: string): number {
  return pattern.split("*").length - 1;
}
