import type { Context } from "../protocol/context.ts";
import { compose, type Middleware, visibility } from "../protocol/handle.ts";
import { Host, type HostOptions } from "../protocol/host.ts";
import { type DiscoverOptions, discovery } from "./discover.ts";
import type { Method, Methods } from "./method.ts";
import { createRouter, type MethodTable, tableOf } from "./router.ts";

export interface ServerOptions extends HostOptions {
  /** Wraps every call; the first sees it first. */
  readonly use?: readonly Middleware[];
  /** Joins the names of nested groups. @default "/" */
  readonly separator?: string;
  /** What `rpc.discover` answers, an OpenRPC document; false leaves it out. @default on */
  readonly discover?: false | DiscoverOptions;
}

/** Methods that any number of wires can serve. */
export class Server<M extends Methods = Methods> extends Host {
  readonly methods: MethodTable;
  /** Whether a caller may know of a method. */
  readonly visible: (method: string, context: Context) => boolean;
  /** For types only: `createClient<typeof server.api>(…)`. */
  declare readonly api: M;

  constructor(methods: M, options: ServerOptions = {}) {
    const { use = [], separator = "/" } = options;
    const table = tableOf(methods, separator);
    const router = createRouter(table, systemMethods(table, options), use.length === 0);
    super(compose(use, router), options);
    this.methods = table;
    this.visible = visibility(use);
  }

  isStream(method: string): boolean {
    return this.methods.get(method)?.kind === "stream";
  }
}

function systemMethods(methods: MethodTable, options: ServerOptions): ReadonlyMap<string, Method> {
  const { discover = {}, use = [] } = options;
  if (discover === false) return new Map();
  return new Map([["rpc.discover", discovery(methods, discover, use)]]);
}

/** Makes a server of methods; a wire such as `serveHttp` or `receive` brings it calls. */
export function createServer<M extends Methods>(methods: M, options?: ServerOptions): Server<M> {
  return new Server(methods, options);
}
