/** Where calls of some methods go. */
export interface RouteConfig<Name extends string = string> {
  /** A full name such as `math/add`, or a prefix with a star: `math/*`, `*`. */
  readonly method: string;
  /** The name of an upstream. */
  readonly to: Name;
  /** The name there; a star stands for what the star of `method` stood for. @default the same name */
  readonly rename?: string;
  /** Longest run of a call. @default the gateway's */
  readonly timeoutMs?: number;
  /** Most calls of this route in progress; more are refused at once. @default no limit of its own */
  readonly maxInFlight?: number;
  /**
   * Whether its methods may run twice, so that a call whose connection broke may be tried elsewhere.
   * @default what the upstream's own description says
   */
  readonly idempotent?: boolean;
  /** Most tries of one call, the first included. @default 3 */
  readonly attempts?: number;
}

/** What is wrong with a route; the cause is the route itself, so that its place in a file can be told. */
export function routeFault(route: RouteConfig, sentence: string): TypeError {
  return new TypeError(`the route "${route.method}"${sentence}`, { cause: route });
}

/** One route, and the names of methods on its both ends. */
export class Route {
  readonly config: RouteConfig;
  readonly #prefix: string | undefined;
  readonly #there: string;

  constructor(config: RouteConfig) {
    const { method, rename = method } = config;
    if (stars(method) > 1 || (stars(method) === 1 && !method.endsWith("*"))) {
      throw routeFault(config, `: a star stands at the end, and there is one at most`);
    }
    if (stars(rename) !== stars(method) || (stars(rename) === 1 && !rename.endsWith("*"))) {
      throw routeFault(config, `: rename needs a star at its end just if method has one`);
    }
    for (const name of [method, rename]) {
      if (!staysHere(name)) continue;
      throw routeFault(config, `: names that begin with "rpc." or "$/" are the gateway's own`);
    }
    for (const name of ["timeoutMs", "maxInFlight", "attempts"] as const) {
      const value = config[name];
      if (value === undefined || value > 0) continue;
      throw routeFault(config, `: ${name} is a number above 0, not ${value}`);
    }
    this.config = config;
    this.#prefix = method.endsWith("*") ? method.slice(0, -1) : undefined;
    this.#there = rename.endsWith("*") ? rename.slice(0, -1) : rename;
  }

  /** How closely it says what it takes; a full name is closer than any prefix. */
  get closeness(): number {
    return this.#prefix === undefined ? Number.POSITIVE_INFINITY : this.#prefix.length;
  }

  takes(method: string): boolean {
    if (this.#prefix === undefined) return method === this.config.method;
    // A rename may make such a name of a harmless one.
    return method.startsWith(this.#prefix) && !staysHere(method) && !staysHere(this.there(method));
  }

  /** The name of a method on the next hop. */
  there(method: string): string {
    return this.#prefix === undefined
      ? this.#there
      : this.#there + method.slice(this.#prefix.length);
  }

  /** The name here of a method of the next hop, if this route leads to it. */
  here(method: string): string | undefined {
    if (this.#prefix === undefined) return method === this.#there ? this.config.method : undefined;
    if (!method.startsWith(this.#there)) return undefined;
    const name = this.#prefix + method.slice(this.#there.length);
    return this.takes(name) ? name : undefined;
  }
}

/**
 * Finds the route of a method: the closest one. Among equals it is the one whose upstream says that it has
 * the method, else one of which nobody knows what it has.
 */
export class Routes {
  readonly all: readonly Route[];
  /** Which of several equal routes has a method, as the upstreams describe themselves. */
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

  /** Nothing is kept of names that callers make up: each may hold on to the message that it came in. */
  find(method: string): Route | undefined {
    return this.#described.get(method) ?? this.all.find((route) => route.takes(method));
  }
}

/**
 * Whether a name is never sent on. `rpc.` belongs to the system of each end. With `$/` begins what a wire says of its
 * calls, and callers share the one to an upstream: any of them could cancel the calls of all.
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
