import { Client } from "../client/client.ts";
import type { Api } from "../client/contract.ts";
import { satisfies } from "../protocol/access.ts";
import { type DirectCaller, directLink } from "../protocol/direct-link.ts";
import { compose, type Middleware } from "../protocol/handle.ts";
import { Host, type HostOptions } from "../protocol/host.ts";
import { checkMembers } from "../protocol/known-members.ts";
import { type DiscoverOptions, discovery, type Visibility } from "./discover.ts";
import type { Method, Methods } from "./method.ts";
import { createRouter, type MethodTable, tableOf } from "./router.ts";

export interface ServerOptions extends HostOptions {
  /** Middleware around every call; the first sees a call first. @default none */
  readonly use?: readonly Middleware[];
  /** Joins the names of nested groups. @default "/" */
  readonly separator?: string;
  /** Options of `rpc.discover`, which answers with an OpenRPC document; false removes it. @default on */
  readonly discover?: false | DiscoverOptions;
}

// A record, so that the compiler reports a missing option.
const optionNames: Record<keyof ServerOptions, true> = {
  use: true,
  separator: true,
  discover: true,
  versions: true,
  version1Errors: true,
  nullParams: true,
  timeoutMs: true,
  maxRunning: true,
  maxRunningBytes: true,
  maxWireBytes: true,
  overload: true,
  limits: true,
  profile: true,
  log: true,
  clock: true,
  types: true,
  seal: true,
};

/** Methods that any number of wires can serve. */
export class Server<M extends Methods = Methods> extends Host {
  readonly methods: MethodTable;
  readonly #system: MethodTable;
  /** Whether a caller may see a method; used by whatever lists methods. */
  readonly visible: Visibility;
  /** For types only: `createClient<typeof server.api>(…)`. */
  declare readonly api: M;
  readonly hides: boolean;
  readonly #separator: string;
  /** The timeout, if it was set explicitly. */
  readonly timeoutMs: number | undefined;

  constructor(methods: M, options: ServerOptions = {}) {
    if (typeof methods !== "object" || methods === null) {
      throw new TypeError("createServer needs methods: an object of functions and groups");
    }
    const { use = [], separator = "/" } = options;
    if (!Array.isArray(use) || !use.every((wrap) => typeof wrap === "function")) {
      throw new TypeError("`use` must be an array of middleware: (next) => handle");
    }
    const table = tableOf(methods, separator);
    const rules = rulesOf(table, options);
    const system = systemMethods(table, options, rules);
    const onlyWatched = use.every(({ onlyWatches }) => onlyWatches === true);
    const handle = compose(use, createRouter(table, system, onlyWatched));
    super(handle, options, use, longestMessages(table));
    this.methods = table;
    this.timeoutMs = options.timeoutMs;
    this.#separator = separator;
    this.#system = system;
    this.visible = (method, context) => rules.every((rule) => rule(method, context) === true);
    this.hides = use.length > 0 || rules.length > 0;
  }

  /**
   * The methods for programs in this process, such as pages that are rendered on the server: without a wire, through the
   * same middleware and access rules.
   * @example
   * ```ts
   * const api = server.caller({ principal: { id: "ann", roles: ["member"] } });
   * console.log(await api.math.add({ a: 2, b: 3 }));
   * ```
   */
  // Generic, so that a server of some methods stays assignable to a server of any.
  caller<Own = M>(caller: DirectCaller = {}): Api<Own> {
    return new Client<Own>(directLink(this, caller), { separator: this.#separator }).api;
  }

  methodNames(): readonly string[] {
    return [...this.methods.keys(), ...this.#system.keys()];
  }

  hasMethod(method: string): boolean {
    return this.methods.has(method) || this.#system.has(method);
  }

  isStream(method: string): boolean {
    return this.methods.get(method)?.kind === "stream";
  }
}

/** The methods that accept longer or shorter messages than others. */
function longestMessages(methods: MethodTable): ReadonlyMap<string, number> {
  const longest = new Map<string, number>();
  for (const [name, { definition }] of methods) {
    const max = definition.limits?.maxMessageBytes;
    if (max !== undefined) longest.set(name, max);
  }
  return longest;
}

/** All rules that hide methods: options, middleware, and access rules. */
function rulesOf(methods: MethodTable, { discover, use = [] }: ServerOptions): Visibility[] {
  const own = discover === false ? undefined : discover?.visible;
  const ruled = [...methods.values()].some(({ definition }) => definition.access !== undefined);
  const access: Visibility = (name, { principal, transport }) => {
    const rule = methods.get(name)?.definition.access;
    return rule === undefined || satisfies(rule, principal, transport);
  };
  return [own, ...use.map((wrap) => wrap.visible), ruled ? access : undefined].filter(
    (rule) => rule !== undefined,
  );
}

function systemMethods(
  methods: MethodTable,
  { discover = {} }: ServerOptions,
  rules: readonly Visibility[],
): ReadonlyMap<string, Method> {
  if (discover === false) return new Map();
  return new Map([["rpc.discover", discovery(methods, discover, rules)]]);
}

/**
 * Creates a server of methods; a wire such as `serveHttp` or `receive` brings it calls.
 * @example
 * ```ts
 * import { createServer } from "callwire";
 * import { serveHttp } from "callwire/http/node";
 *
 * const server = createServer({ greet: (name: string) => `Hello, ${name}` });
 * await serveHttp(server, { port: 8000 });
 * ```
 */
export function createServer<M extends Methods>(methods: M, options?: ServerOptions): Server<M> {
  checkMembers(options ?? {}, Object.keys(optionNames), "createServer: options");
  return new Server(methods, options);
}
