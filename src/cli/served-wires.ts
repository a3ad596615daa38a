import type { Host, Middleware, Server } from "callwire";
import type { NodeHandler, ServeHttpOptions } from "callwire/http/node";
import type { McpServer } from "callwire/mcp";
import type { Metrics } from "callwire/observability";
import { type Flags, flag, type Options, option } from "./command.ts";
import {
  type FramingName,
  framingOf,
  framingOption,
  notEmpty,
  portOf,
} from "./command-arguments.ts";
import { Failure, oneLine } from "./failure.ts";
import { hostsOf, networkAddresses, originsOf, urlHost } from "./host-names.ts";

export const wireOptions = {
  port: option("number", "HTTP and WebSocket port; 0 picks any (default 8000)", {
    env: "PORT",
    // A parent process that uses stdio may have a PORT of its own.
    unless: ["stdio", "mcp"],
  }),
  host: option("address", "listening address (default 127.0.0.1)", {
    env: "CALLWIRE_HOST",
    unless: ["stdio", "mcp"],
  }),
  hosts: option("names", "more names to accept as Host; any accepts all", {
    env: "CALLWIRE_HOSTS",
    unless: ["stdio", "mcp"],
  }),
  origins: option("origins", "origins whose pages may call: https://app.example", {
    env: "CALLWIRE_ORIGINS",
    unless: ["stdio", "mcp"],
  }),
  tcp: option("number", "also serve on this TCP port"),
  unix: option("path", "also serve on this unix socket"),
  nats: option("url", "also serve on NATS: nats://host:port/subject", { env: "CALLWIRE_NATS" }),
  stdio: flag("serve on stdin and stdout; add --port for HTTP"),
  ...framingOption,
} as const satisfies Options;

export const playgroundOption = {
  playground: flag("serve a page at / to explore the methods"),
} as const satisfies Options;

type WireFlags = Flags<typeof wireOptions>;

/** A server at a path; the first mount also serves the wires without paths. */
export interface Mount {
  readonly path: string;
  readonly server: Host & { readonly methods?: Server["methods"] };
  readonly versions: string;
  /** Whether it is an A2A agent, which is served over HTTP only. */
  readonly isAgent?: boolean;
  /** What to ask the agent first, as words of `callwire a2a <url>`. */
  readonly sample?: string;
  /** The same methods for agents, at /mcp. */
  readonly agents?: McpServer;
  /** What `agents` forwards to, such as "2 MCP servers"; there are then no methods beside it. */
  readonly forwardsTo?: string;
}

/** What HTTP serves in addition to the methods. */
export interface HttpExtras {
  readonly pages?: Readonly<Record<string, NodeHandler>>;
  readonly playground?: boolean;
  readonly ready?: ServeHttpOptions["ready"];
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer };
  /** Whether this process is one of several that share the port. */
  readonly isWorker?: boolean;
}

/** Options of HTTP must not be ignored silently without HTTP. */
export function refuseWithoutHttp(flags: Readonly<Record<string, unknown>>): void {
  if (flags.stdio !== true || flags.port !== undefined) return;
  const httpOnly = [
    "playground",
    "metrics",
    "a2a",
    "path",
    "hosts",
    "origins",
    "tls-cert",
    "api-keys",
    "jwks",
    "rate-limit",
  ];
  const unused = httpOnly.find((name) => flags[name] !== undefined);
  if (unused === undefined) return;
  throw new Failure(`--${unused} needs HTTP; with --stdio, add --port`);
}

export interface Wires {
  /** Such as `http://127.0.0.1:8000`; undefined without HTTP. */
  readonly origin: string | undefined;
  /** The addresses for other machines; empty if only this machine can connect. */
  readonly networkAddresses: readonly string[];
  /** Whether other names of this machine, such as those of a service, are refused. */
  readonly refusesOtherHosts: boolean;
  readonly pages: readonly string[];
  readonly hasPlayground: boolean;
  readonly sockets: readonly Socket[];
  readonly framing: FramingName;
  /** Resolves when the calls of standard input are answered, with when it ended; never without stdio. */
  readonly inputEnded: Promise<number>;
}

interface Socket {
  readonly wire: string;
  readonly address: string;
}

/** Opens the wires of the options; each closes with its server. */
export async function openWires(
  mounts: readonly [Mount, ...Mount[]],
  flags: WireFlags,
  extras: HttpExtras,
): Promise<Wires> {
  const [{ server }] = mounts;
  const host = notEmpty("--host", flags.host ?? "127.0.0.1");
  const path = flags.unix === undefined ? undefined : notEmpty("--unix", flags.unix);
  const framing = framingOf(flags.framing);
  const tcp = flags.tcp === undefined ? undefined : portOf("--tcp", flags.tcp);
  const port = portOf("--port", flags.port ?? "8000");
  const hasSockets = tcp !== undefined || path !== undefined;
  if (flags.framing !== undefined && !hasSockets && flags.stdio !== true)
    throw new Failure("--framing needs --tcp, --unix or --stdio");
  if (flags.host !== undefined && flags.stdio === true && (flags.port ?? tcp) === undefined)
    throw new Failure("--host needs HTTP or TCP; with --stdio, add --port or --tcp");
  const access = { hosts: hostsOf(flags.hosts, host), origins: originsOf(flags.origins) };
  // First: from here on stray output goes to stderr.
  const stdio = flags.stdio
    ? (await import("callwire/stdio")).serveStdio(server, { framing })
    : undefined;
  const inputEnded = stdio === undefined ? new Promise<never>(() => {}) : answered(stdio.closed);

  const sockets: Socket[] = [];
  const serveSocket: typeof import("callwire/tcp").serveSocket = async (...args) =>
    (await import("callwire/tcp")).serveSocket(...args);
  if (tcp !== undefined) {
    const socket = await opened(`TCP port ${tcp}`, "--tcp", () =>
      serveSocket(server, {
        port: tcp,
        host,
        framing,
        ...(extras.tls === undefined ? undefined : { tls: extras.tls }),
      }),
    );
    sockets.push({ wire: "TCP", address: `${urlHost(host)}:${socket.port}` });
  }
  if (path !== undefined) {
    await opened(`the socket ${path}`, "--unix", () => serveSocket(server, { path, framing }));
    sockets.push({ wire: "unix socket", address: path });
  }
  if (flags.nats !== undefined) {
    const { serveNatsUrl } = await import("./nats-serving.ts");
    sockets.push({ wire: "NATS", address: await serveNatsUrl(server, flags.nats) });
  }
  const origin =
    stdio === undefined || flags.port !== undefined
      ? await opened(`port ${port}`, "--port", () => openHttp(mounts, host, port, extras, access))
      : undefined;
  const hasPlayground = extras.playground === true && origin !== undefined;
  return {
    origin,
    networkAddresses: networkAddresses(host),
    refusesOtherHosts: flags.hosts === undefined,
    pages: Object.keys(extras.pages ?? {}),
    hasPlayground,
    sockets,
    framing,
    inputEnded,
  };
}

/** Resolves when the calls of standard input are answered, with when it ended. */
async function answered(closed: Promise<void>): Promise<number> {
  let endedAt: number | undefined;
  process.stdin.once("end", () => {
    endedAt = performance.now();
  });
  await closed;
  return endedAt ?? performance.now();
}

async function openHttp(
  [first, ...rest]: readonly [Mount, ...Mount[]],
  host: string,
  port: number,
  { pages, playground = false, ready, tls, isWorker = false }: HttpExtras,
  access: { readonly hosts: readonly string[] | "any"; readonly origins: readonly string[] },
): Promise<string> {
  const agents =
    first.agents === undefined ? {} : (await import("callwire/mcp")).mcpMounts(first.agents);
  const { serveHttp } = await import("callwire/http/node");
  const http = await serveHttp(first.server, {
    port,
    host,
    path: first.path,
    playground,
    mounts: {
      ...Object.fromEntries(rest.map(({ path, server }) => [path, server])),
      ...agents,
      ...pages,
    },
    ...access,
    ...(ready === undefined ? undefined : { ready }),
    ...(tls === undefined ? undefined : { tls }),
    // In a worker, the number does not matter.
    ...(isWorker ? { workers: 1 } : undefined),
  });
  return `http${tls === undefined ? "" : "s"}://${urlHost(host)}:${http.port}`;
}

/** Turns system errors into failures that name the option to change. */
export async function opened<T>(what: string, flag: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const { code } = error as { code?: unknown };
    const advice = `choose another with ${flag}`;
    const why =
      code === "EADDRINUSE"
        ? `is in use; ${advice}`
        : code === "EACCES"
          ? `is not permitted for this user; ${advice}`
          : undefined;
    const text =
      why === undefined ? `${what} cannot be opened: ${oneLine(error)}` : `${what} ${why}`;
    // A worker has said itself why it exited.
    const isWorkers = error instanceof Error && error.name === "WorkerExit";
    throw new Failure(isWorkers ? error.message : text, { cause: error });
  }
}

export const metricsOption = {
  metrics: {
    ...flag("serve metrics of the calls at /metrics", "CALLWIRE_METRICS"),
    unless: ["stdio", "mcp"],
  },
} as const satisfies Options;

/** The metrics, and the middleware and the page for them; empty without --metrics. */
interface ServedMetrics {
  readonly metrics: Metrics | undefined;
  readonly use: readonly Middleware[];
  readonly pages: Readonly<Record<string, NodeHandler>>;
}

export async function metricsOf(flags: Flags<typeof metricsOption>): Promise<ServedMetrics> {
  if (flags.metrics !== true) return { metrics: undefined, use: [], pages: {} };
  const { createMetrics, metricsPage } = await import("callwire/observability");
  const metrics = createMetrics();
  return { metrics, use: [metrics.middleware], pages: { "/metrics": metricsPage(metrics) } };
}
