import type { ToJsonSchema } from "../../openrpc/json-schema.ts";
import { systemClock } from "../../protocol/clock.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import { type CloseOptions, Host, type HostOptions } from "../../protocol/host.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { Origin } from "../../protocol/origin.ts";
import { SessionReports } from "../../protocol/session-reports.ts";
import type { Methods } from "../../server/method.ts";
import { type Implementation, implementationOf, type ServerCapabilities } from "../capabilities.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import { mcpProfile } from "../notices.ts";
import type { CacheHints } from "../results.ts";
import type { TaskOptions } from "../task-table.ts";
import { Catalog, type CatalogOptions, type Served } from "./catalog.ts";
import { Changes, listening } from "./changes.ts";
import { features } from "./feature-operations.ts";
import { HandlerRounds } from "./handler-rounds.ts";
import { LegacyEra } from "./legacy.ts";
import { listing } from "./list-operations.ts";
import { ModernEra, modernWire } from "./modern.ts";
import type { Prompt } from "./prompt.ts";
import { RequestStates } from "./request-state.ts";
import type { Resource } from "./resource.ts";
import { type RootsListener, rootsChanged } from "./roots-changed.ts";
import { Session } from "./session.ts";
import { legacyTaskOperations, taskOperations } from "./task-operations.ts";
import { Tasks } from "./tasks.ts";
import { toolCalls } from "./tool-call.ts";

export interface McpServerOptions
  extends Implementation,
    Omit<HostOptions, "versions" | "nullParams" | "profile"> {
  /** How a model should use this server. */
  readonly instructions?: string;
  /** What clients may read. @default none */
  readonly resources?: readonly Resource[];
  /** Prompts by name, for users to choose from. @default none */
  readonly prompts?: Readonly<Record<string, Prompt>>;
  /**
   * Called when the roots of a client changed; `call.roots()` requests the new ones. The server caches
   * none. Only clients until 2025-11-25 send this notification.
   */
  readonly onRootsChanged?: RootsListener;
  /** Wraps every tool, prompt and resource, which it sees under their method names. */
  readonly use?: readonly Middleware[];
  /** Which methods are tools; "marked" takes only those whose definition has `tool`. @default "all" */
  readonly expose?: CatalogOptions["expose"];
  /** Separator between the names of nested groups. @default "/" */
  readonly separator?: string;
  /** Converts schemas to JSON Schema if their library cannot. */
  readonly toJsonSchema?: ToJsonSchema;
  /** Most entries in one page of a list. @default 1000 */
  readonly pageSize?: number;
  /** How long clients may cache lists and resources. @default not at all, and private */
  readonly cache?: CacheHints;
  /**
   * Extensions of MCP that this server supports: their settings by their ids. What a client supports is in
   * `call.client.capabilities.extensions`. @default none, or tasks if a tool can run as one
   */
  readonly extensions?: Readonly<Record<string, object>>;
  /** Limits for tasks; stops memory exhaustion. */
  readonly tasks?: TaskOptions;
  /** Signs the state that clients return with their answers; processes behind a load balancer must share it. @default random */
  readonly stateSecret?: string;
  /** How long a client may take to answer a question; bounds the replay of an old state. @default 600000 */
  readonly stateLifetimeMs?: number;
  /** Longest run of a call. @default 600000, or the limit of the server that is offered */
  readonly timeoutMs?: number;
}

/** What a gateway adds. */
export interface ServerExtras {
  /** Declared in addition, because what the catalog has is not yet known. */
  readonly capabilities: ServerCapabilities;
  /** Called with the method of each request; its promise, if any, comes before the request. */
  prepare(method: string): Promise<unknown> | undefined;
  readonly onRootsChanged: RootsListener;
}

/** Agents wait for minutes. */
const usualTimeoutMs = 600_000;

/** Offers methods, resources and prompts to agents, on both eras of MCP. */
export class McpServer extends Host {
  readonly info: Implementation;
  /** The tools, prompts and resources; changes are reported to connected clients. */
  readonly catalog: Catalog;
  readonly changes: Changes;
  /** Reports to middleware how long sessions lasted. */
  readonly sessionReports: SessionReports;
  readonly #tasks: Tasks;

  constructor(offered: Methods | Served, options: McpServerOptions, extras?: ServerExtras) {
    const info = implementationOf(options);
    // Middleware also authenticates connections, and so decides who owns a session.
    const use = [...(isServed(offered) ? offered.use : []), ...(options.use ?? [])];
    const reports = new SessionReports(options.clock ?? systemClock, use);
    const parts = assemble(offered, options, info, reports, extras);
    super(
      parts.handle,
      {
        ...options,
        timeoutMs: options.timeoutMs ?? usualTimeoutMs,
        profile: mcpProfile(takesBatches),
      },
      use,
    );
    this.info = info;
    this.catalog = parts.catalog;
    this.changes = parts.changes;
    this.sessionReports = reports;
    this.#tasks = parts.tasks;
  }

  /** Notifies subscribers that a resource changed. */
  resourceUpdated(uri: string): void {
    this.changes.resourceUpdated(uri);
  }

  /** Notifies the client of 2025-11-25 whose user was sent to a page that the visit is complete. */
  elicitationComplete(elicitationId: string): void {
    this.changes.elicitationComplete(elicitationId);
  }

  override close(options?: CloseOptions): Promise<void> {
    // Tasks end only here.
    this.#tasks.end();
    return super.close(options);
  }
}

/**
 * Creates an MCP server from methods or from a server; `mcpMounts` and `serveMcpStdio` connect clients.
 * @example
 * ```ts
 * import { mcpServer, serveMcpStdio } from "callwire/mcp";
 *
 * const agents = mcpServer(
 *   { add: (a: number, b: number) => a + b },
 *   { name: "calculator", version: "1.0.0", instructions: "Adds numbers." },
 * );
 * serveMcpStdio(agents);
 * ```
 */
export function mcpServer(offered: Methods | Served, options: McpServerOptions): McpServer {
  return new McpServer(offered, options);
}

/** Only 2025-03-26 has batches. */
function takesBatches({ session }: Origin): boolean {
  return session instanceof Session && session.revision === "2025-03-26";
}

interface Parts {
  readonly handle: Handle;
  readonly catalog: Catalog;
  readonly changes: Changes;
  readonly tasks: Tasks;
}

function assemble(
  offered: Methods | Served,
  options: McpServerOptions,
  info: Implementation,
  reports: SessionReports,
  extras: ServerExtras | undefined,
): Parts {
  const { use = [], separator = "/", expose = "all", toJsonSchema, pageSize = 1_000 } = options;
  const { clock = systemClock, instructions, prompts = {}, resources = [] } = options;
  const { timeoutMs = usualTimeoutMs, stateLifetimeMs = 600_000 } = options;
  const { onRootsChanged = extras?.onRootsChanged } = options;
  limitOf("pageSize", pageSize);
  limitOf("stateLifetimeMs", stateLifetimeMs);
  const changes = new Changes();
  const catalog = new Catalog(
    { use, separator, expose, toJsonSchema, timeoutMs: options.timeoutMs },
    changes,
  );
  if (isServed(offered)) catalog.addServed(offered);
  else catalog.addMethods(offered);
  for (const [name, each] of Object.entries(prompts)) catalog.addPrompt(name, each);
  for (const each of resources) catalog.addResource(each);

  const tasks = new Tasks(clock, options.log ?? consoleLog, options.tasks);
  const rounds = new HandlerRounds(new RequestStates(clock, stateLifetimeMs, options.stateSecret));
  const shared = [
    ...listing(catalog, pageSize),
    ...features(catalog, rounds),
    ["tools/call", toolCalls(catalog, rounds, tasks)] as const,
  ].map(([name, operation]): [string, typeof operation] => [name, operation]);
  const capabilities = (): ServerCapabilities => ({
    ...offeredBy(catalog, options),
    ...extras?.capabilities,
    ...(extras !== undefined && {
      extensions: { ...options.extensions, ...extras.capabilities.extensions },
    }),
  });
  const legacy = new LegacyEra([...shared, ...legacyTaskOperations(tasks, pageSize)], {
    info,
    instructions,
    capabilities,
    catalog,
    changes,
    reports,
    rootsChanged: onRootsChanged && rootsChanged(onRootsChanged, clock, timeoutMs),
  });
  const { ttlMs = 0, cacheScope = "private" } = options.cache ?? {};
  const modern = new ModernEra(
    [
      ...shared,
      ...taskOperations(tasks),
      ["subscriptions/listen", listening(catalog, changes, tasks, capabilities)],
    ],
    { info, instructions, capabilities, cache: { ttlMs, cacheScope } },
  );
  const handle: Handle = (request, context) => {
    const { incoming } = context;
    if (incoming === undefined)
      throw new TypeError("middleware must pass on the context that it was given");
    const { _meta } = (request.params ?? {}) as { _meta?: Readonly<Record<string, unknown>> };
    const isModern =
      incoming.origin.session === modernWire || _meta?.[MetaKey.ProtocolVersion] !== undefined;
    const era = isModern ? modern : legacy;
    const ready = extras?.prepare(request.method);
    return ready === undefined
      ? era.handle(request, incoming)
      : ready.then(() => era.handle(request, incoming));
  };
  return { handle, catalog, changes, tasks };
}

/** Checks the shape, because the server may come from another copy of the package. */
function isServed(offered: Methods | Served): offered is Served {
  return "answerer" in offered && typeof offered.handle === "function";
}

/** The capabilities to declare. */
function offeredBy(
  { tools, prompts, resources, templates }: Catalog,
  options: McpServerOptions,
): ServerCapabilities {
  // A list that is empty now may be filled later, and clients read the capabilities only once.
  const hasPrompts = options.prompts !== undefined || prompts.size > 0;
  const hasResources = options.resources !== undefined || resources.size + templates.size > 0;
  const completes =
    [...prompts.values()].some(({ complete }) => Object.keys(complete).length > 0) ||
    [...templates.values()].some(({ definition }) => "complete" in definition);
  const hasTasks = [...tools.values()].some(({ taskSupport }) => taskSupport !== "forbidden");
  return {
    tools: { listChanged: true },
    ...(hasPrompts && { prompts: { listChanged: true } }),
    ...(hasResources && { resources: { subscribe: true, listChanged: true } }),
    ...(completes && { completions: {} }),
    logging: {},
    ...(hasTasks && { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }),
    ...((hasTasks || options.extensions !== undefined) && {
      extensions: { ...options.extensions, ...(hasTasks && { [tasksExtension]: {} }) },
    }),
  };
}
