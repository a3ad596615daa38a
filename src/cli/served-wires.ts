import type { Host, Middleware, Server } from "callwire";
import { type NodeHandler, type ServeHttpOptions, serveHttp } from "callwire/http/node";
import type { McpServer } from "callwire/mcp";
import { createMetrics, type Metrics, metricsPage } from "callwire/observability";
import { serveStdio } from "callwire/stdio";
import { serveSocket } from "callwire/tcp";
import type { Flags, Options } from "./command.ts";
import { type FramingName, framingOf, framingOption, portOf } from "./command-arguments.ts";
import { Failure, oneLine } from "./failure.ts";
import { hostsOf, originsOf, reachableAt, shown } from "./host-names.ts";

/** The flags that say on which wires a server is served. */
export const wireOptions = {
  port: {
    type: "string",
    value: "number",
    description: "port for HTTP and WebSocket; 0 takes a free one (default 8000)",
  },
  host: {
    type: "string",
    value: "address",
    description: "address to listen on; 0.0.0.0 lets other machines in (default 127.0.0.1)",
  },
  hosts: {
    type: "string",
    value: "names",
    description: "names that callers may address it by, beside its own; any checks none",
  },
  origins: {
    type: "string",
    value: "origins",
    description: "origins whose pages may call, such as https://app.example,http://localhost:5173",
  },
  tcp: { type: "string", value: "number", description: "serve on this TCP port too" },
  unix: { type: "string", value: "path", description: "serve on this unix socket too" },
  stdio: {
    type: "boolean",
    description: "serve standard input and output; HTTP then needs --port",
  },
  ...framingOption,
} as const satisfies Options;

/** For verbs that can show what they serve. */
export const playgroundOption = {
  playground: {
    type: "boolean",
    description: "serve a page at / where people see and try the methods",
  },
} as const satisfies Options;

type WireFlags = Flags<typeof wireOptions>;

/** A server at a path. The first of several also answers on the wires that know no paths. */
export interface Mount {
  readonly path: string;
  /** Methods of its own are shown; a gateway has none. */
  readonly server: Host & { readonly methods?: Server["methods"] };
  /** Which versions it speaks, for people. */
  readonly speaks: string;
  /** The same for agents, at /mcp. */
  readonly agents?: McpServer;
}

/** What an HTTP server has beside its methods. */
export interface Beside {
  /** By their paths. */
  readonly pages?: Readonly<Record<string, NodeHandler>>;
  /** The page on which methods are seen and tried, at `/`. */
  readonly playground?: boolean;
  /** What `/readyz` asks. */
  readonly ready?: ServeHttpOptions["ready"];
}

/** What only HTTP has must not be passed over where there is none. */
export function refuseWithoutHttp(flags: Readonly<Record<string, unknown>>): void {
  if (flags.stdio !== true || flags.port !== undefined) return;
  const needy = ["playground", "metrics", "path", "hosts", "origins"];
  const unused = needy.find((name) => flags[name] !== undefined);
  if (unused === undefined) return;
  throw new Failure(`--${unused} is for HTTP, which with --stdio is served only with --port`);
}

/** What is served where. */
export interface Wires {
  /** `http://127.0.0.1:8000`, where there is HTTP. */
  readonly origin: string | undefined;
  /** The addresses by which other machines reach it; none where only this one does. */
  readonly elsewhere: readonly string[];
  /** Paths of what is served beside the methods. */
  readonly pages: readonly string[];
  /** Whether the playground is at the root of the origin. */
  readonly hasPlayground: boolean;
  readonly sockets: readonly Socket[];
  readonly framing: FramingName;
  /** Resolves when standard input ended; never without stdio. */
  readonly inputEnded: Promise<void>;
}

/** Where TCP or a unix socket listens. */
interface Socket {
  readonly wire: string;
  readonly address: string;
}

/** Opens the wires that the flags name; each closes with its server. */
export async function openWires(
  mounts: readonly [Mount, ...Mount[]],
  flags: WireFlags,
  beside: Beside,
): Promise<Wires> {
  const [{ server }] = mounts;
  const host = filled("--host", flags.host ?? "127.0.0.1");
  const path = flags.unix === undefined ? undefined : filled("--unix", flags.unix);
  const framing = framingOf(flags.framing);
  const tcp = flags.tcp === undefined ? undefined : portOf("--tcp", flags.tcp);
  const port = portOf("--port", flags.port ?? "8000");
  const hasSockets = tcp !== undefined || path !== undefined;
  if (flags.framing !== undefined && !hasSockets && flags.stdio !== true)
    throw new Failure("--framing is for --tcp, --unix and --stdio, and there is none of these");
  if (flags.host !== undefined && flags.stdio === true && (flags.port ?? tcp) === undefined)
    throw new Failure("--host is for HTTP and TCP, which with --stdio need --port or --tcp");
  const access = { hosts: hostsOf(flags.hosts, host), origins: originsOf(flags.origins) };
  // First, and before anything is awaited: from here on stray output goes to stderr.
  const stdio = flags.stdio ? serveStdio(server, { framing }) : undefined;

  const sockets: Socket[] = [];
  if (tcp !== undefined) {
    const socket = await opened(`TCP port ${tcp}`, "--tcp", () =>
      serveSocket(server, { port: tcp, host, framing }),
    );
    sockets.push({ wire: "TCP", address: `${shown(host)}:${socket.port}` });
  }
  if (path !== undefined) {
    await opened(`the socket ${path}`, "--unix", () => serveSocket(server, { path, framing }));
    sockets.push({ wire: "unix socket", address: path });
  }
  const origin =
    stdio === undefined || flags.port !== undefined
      ? await opened(`port ${port}`, "--port", () => openHttp(mounts, host, port, beside, access))
      : undefined;
  const hasPlayground = beside.playground === true && origin !== undefined;
  return {
    origin,
    elsewhere: reachableAt(host),
    pages: Object.keys(beside.pages ?? {}),
    hasPlayground,
    sockets,
    framing,
    inputEnded: stdio?.closed ?? new Promise<void>(() => {}),
  };
}

async function openHttp(
  [first, ...rest]: readonly [Mount, ...Mount[]],
  host: string,
  port: number,
  { pages, playground = false, ready }: Beside,
  access: { readonly hosts: readonly string[] | "any"; readonly origins: readonly string[] },
): Promise<string> {
  const agents =
    first.agents === undefined ? {} : (await import("callwire/mcp")).mcpMounts(first.agents);
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
  });
  return `http://${shown(host)}:${http.port}`;
}

/** Turns what the system says into one line that says which flag to change. */
async function opened<T>(what: string, flag: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EADDRINUSE") {
      throw new Failure(`${what} is taken; choose another with ${flag}`, { cause: error });
    }
    if (code === "EACCES") {
      throw new Failure(`${what} is not allowed for this user; choose another with ${flag}`, {
        cause: error,
      });
    }
    throw new Failure(`${what} cannot be opened: ${oneLine(error)}`, { cause: error });
  }
}

/** A variable of a script that is not set must not stand for every address there is. */
function filled(flag: string, text: string): string {
  if (text.trim() !== "") return text;
  throw new Failure(`${flag} needs a value`);
}

/** For verbs that can count what they serve. */
export const metricsOption = {
  metrics: { type: "boolean", description: "count calls, and show them at /metrics" },
} as const satisfies Options;

/** What counts calls, and the page that shows it; nothing where nobody asked for it. */
export interface Counting {
  readonly metrics: Metrics | undefined;
  readonly use: readonly Middleware[];
  readonly pages: Readonly<Record<string, NodeHandler>>;
}

export function countingOf(flags: Flags<typeof metricsOption>): Counting {
  if (flags.metrics !== true) return { metrics: undefined, use: [], pages: {} };
  const metrics = createMetrics();
  return { metrics, use: [metrics.middleware], pages: { "/metrics": metricsPage(metrics) } };
}
