import { systemClock } from "../../protocol/clock.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import type { Middleware } from "../../protocol/handle.ts";
import type { CloseOptions } from "../../protocol/host.ts";
import { limitOf } from "../../protocol/limits.ts";
import { settledOrTimeout } from "../../protocol/waiting.ts";
import type { Methods } from "../../server/method.ts";
import { implementationOf, type ServerCapabilities } from "../capabilities.ts";
import type { NegotiationOptions } from "../client/handshake.ts";
import { mcpMemoryLink } from "../client/memory-wire.ts";
import type { McpWire } from "../client/wire.ts";
import { tasksExtension } from "../meta-keys.ts";
import type { FeatureCall } from "../server/feature-call.ts";
import { McpServer, type McpServerOptions } from "../server/mcp-server.ts";
import { HeldCalls } from "./held-calls.ts";
import { Prefix } from "./names.ts";
import { Upstream } from "./upstream.ts";

/** A server behind a gateway, with options. */
export interface McpUpstream extends Pick<NegotiationOptions, "era"> {
  /** How to reach it: `mcpStdioLink`, `mcpHttpLink` or `mcpMemoryLink`. */
  readonly link: McpWire;
  /**
   * "gateway": all clients share one connection or process. "session": each session of the legacy era has its own, for
   * servers that keep a state for their client or ask it questions. @default "gateway"
   */
  readonly per?: "gateway" | "session";
  /** Most connections of single sessions; stops clients from starting any number of processes. @default 32 */
  readonly maxConnections?: number;
  /** Comes before the names of its tools and prompts, and the URIs of its resources; "" leaves them as they are. @default its name */
  readonly prefix?: string;
}

/** What can be behind a gateway: the way to a server, a server in this process, or methods. */
export type McpGatewayPart = McpWire | McpUpstream | McpServer | Methods;

export interface McpGatewayOptions
  extends Omit<McpServerOptions, "resources" | "prompts" | "expose" | "onRootsChanged"> {
  /** How long lists wait for servers that start; slower ones are added, with a notification, when they are ready. @default 10000 */
  readonly startMs?: number;
  /** Wraps each request to the servers behind the gateway; `tracing` makes a client span of each. @default none */
  readonly useUpstream?: readonly Middleware[];
}

/** Always declared, because the servers start only after the first client has asked for the capabilities. */
const capabilities: ServerCapabilities = {
  tools: { listChanged: true },
  prompts: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  completions: {},
  logging: {},
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
};

/** These are answered while servers start. */
const withoutServers: ReadonlySet<string> = new Set(["initialize", "server/discover", "ping"]);

/** One MCP server in front of others. */
class McpGateway extends McpServer {
  readonly #upstreams: readonly Upstream[];
  readonly #held: HeldCalls;

  constructor(parts: Readonly<Record<string, McpGatewayPart>>, options: McpGatewayOptions) {
    const info = implementationOf(options);
    const { clock = systemClock, log = consoleLog, startMs = 10_000 } = options;
    limitOf("startMs", startMs);
    const upstreams: Upstream[] = [];
    let starting: Promise<unknown> | undefined;
    let isStarted = false;
    super(ownMethods(parts), options, {
      capabilities,
      prepare(method) {
        starting ??= settledOrTimeout(
          clock,
          startMs,
          Promise.all(upstreams.map((each) => each.start())),
        ).then(() => {
          isStarted = true;
        });
        return isStarted || withoutServers.has(method) ? undefined : starting;
      },
      onRootsChanged(call) {
        const { session } = (call as FeatureCall).caller;
        if (session !== undefined) for (const each of upstreams) each.rootsChanged(session);
      },
    });
    this.#upstreams = upstreams;
    this.#held = new HeldCalls(clock, options.stateLifetimeMs ?? 600_000);
    const around = {
      info,
      log,
      clock,
      catalog: this.catalog,
      held: this.#held,
      use: options.useUpstream ?? [],
    };
    const schemes = new Set<string>();
    for (const [name, part] of Object.entries(parts)) {
      const upstream = upstreamOf(part);
      if (upstream === undefined) continue;
      const { link: wire, per = "gateway", maxConnections, prefix: own = name, era } = upstream;
      const prefix = new Prefix(own);
      if (own !== "" && schemes.has(prefix.scheme)) {
        throw new TypeError(
          `"${name}" has the prefix of another server; set "prefix" for one of them`,
        );
      }
      schemes.add(prefix.scheme);
      const most = limitOf(`maxConnections of ${name}`, maxConnections, 32);
      const settings = {
        name,
        wire,
        prefix,
        perSession: per === "session",
        maxConnections: most,
        era,
      };
      upstreams.push(new Upstream(settings, around));
    }
    this.changes.sessionEnded = (session) => {
      for (const each of upstreams) each.sessionEnded(session);
    };
    this.changes.wanted = (uri) => this.#watch(uri);
  }

  override async close(options?: CloseOptions): Promise<void> {
    this.#held.end();
    await super.close(options);
    await Promise.all(this.#upstreams.map((each) => each.close()));
  }

  /** Subscribes to a resource of a server behind this one, when the first client does. */
  async #watch(uri: string): Promise<void> {
    const group = this.catalog.groupOf(uri);
    const upstream = this.#upstreams.find(({ name }) => name === group);
    await upstream?.watch(upstream.prefix.ownUri(uri), {
      changed: () => this.resourceUpdated(uri),
      isWanted: () => this.changes.isWanted(uri),
    });
  }
}

/** Methods become tools of the gateway itself, as groups. */
function ownMethods(parts: Readonly<Record<string, McpGatewayPart>>): Methods {
  const own = Object.entries(parts).filter(([, part]) => upstreamOf(part) === undefined);
  return Object.fromEntries(own) as Methods;
}

function upstreamOf(part: McpGatewayPart): McpUpstream | undefined {
  if (part instanceof McpServer) return { link: mcpMemoryLink(part) };
  if (isWire(part)) return { link: part };
  return "link" in part && isWire(part.link) ? (part as McpUpstream) : undefined;
}

function isWire(part: unknown): part is McpWire {
  const { hasHeaders, open } = (part ?? {}) as Partial<McpWire>;
  return typeof hasHeaders === "boolean" && typeof open === "function";
}

/**
 * One MCP server in front of many: their tools, prompts and resources behind one endpoint, each with the name of its
 * server before its own. Serve it like any other: with `mcpMounts`, `serveMcpStdio` or `mcpFetchHandler`.
 * @example
 * ```ts
 * import { mcpGateway, serveMcpStdio } from "callwire/mcp";
 * import { mcpHttpLink, mcpStdioLink } from "callwire/mcp/client";
 *
 * const gateway = mcpGateway(
 *   {
 *     files: mcpStdioLink("npx", ["-y", "@modelcontextprotocol/server-filesystem", "."]),
 *     docs: mcpHttpLink("https://mcp.example.com/mcp"),
 *     own: { add: (a: number, b: number) => a + b },
 *   },
 *   { name: "all-tools", version: "1.0.0" },
 * );
 * serveMcpStdio(gateway); // files_read_file, docs_search, own_add
 * ```
 */
export function mcpGateway(
  parts: Readonly<Record<string, McpGatewayPart>>,
  options: McpGatewayOptions,
): McpServer {
  return new McpGateway(parts, options);
}
