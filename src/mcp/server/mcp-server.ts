import type { ToJsonSchema } from "../../openrpc/json-schema.ts";
import { systemClock } from "../../protocol/clock.ts";
import type { Handle, Middleware } from "../../protocol/handle.ts";
import { type CloseOptions, Host, type HostOptions } from "../../protocol/host.ts";
import { limitOf } from "../../protocol/limits.ts";
import type { Origin } from "../../protocol/origin.ts";
import type { Methods } from "../../server/method.ts";
import { type Implementation, implementationOf, type ServerCapabilities } from "../capabilities.ts";
import { MetaKey, tasksExtension } from "../meta-keys.ts";
import { mcpProfile } from "../notices.ts";
import type { CacheHints } from "../results.ts";
import type { TaskOptions } from "../work-table.ts";
import { Catalog, type CatalogOptions, type Served } from "./catalog.ts";
import { Changes } from "./changes.ts";
import { features } from "./features.ts";
import { LegacyEra } from "./legacy.ts";
import { listening } from "./listen.ts";
import { listing } from "./listing.ts";
import { ModernEra, modernWire } from "./modern.ts";
import type { Prompt } from "./prompt.ts";
import { RequestStates } from "./request-state.ts";
import type { Resource } from "./resource.ts";
import { RootsChanged, type RootsListener } from "./roots-changed.ts";
import { Rounds } from "./rounds.ts";
import { Session } from "./session.ts";
import { legacyTaskOperations, taskOperations } from "./task-operations.ts";
import { Tasks } from "./tasks.ts";
import { toolCalls } from "./tools.ts";

export interface McpServerOptions
  extends Implementation,
    Omit<HostOptions, "versions" | "nullParams" | "profile"> {
  /** How a model should use this server. */
  readonly instructions?: string;
  readonly resources?: readonly Resource[];
  readonly prompts?: Readonly<Record<string, Prompt>>;
  /**
   * Hears that the folders of a client are others now; `call.roots()` asks which. None are kept
   * here: each `call.roots()` of a handler asks anew. Only clients until 2025-11-25 say so.
   */
  readonly onRootsChanged?: RootsListener;
  /** Wraps every tool, prompt and resource, under the name of its method. */
  readonly use?: readonly Middleware[];
  /** Which methods are tools; "marked" takes only those that say so. @default "all" */
  readonly expose?: CatalogOptions["expose"];
  /** Joins the names of nested groups. @default "/" */
  readonly separator?: string;
  /** The JSON Schema of schemas whose library has none. */
  readonly toJsonSchema?: ToJsonSchema;
  /** Most entries of one page of a list. @default 1000 */
  readonly pageSize?: number;
  /** How long clients may keep lists and resources. @default not at all, each for itself */
  readonly cache?: CacheHints;
  readonly tasks?: TaskOptions;
  /** Signs what passes through clients between rounds; processes that share it can take turns. @default random */
  readonly stateSecret?: string;
  /** How long a client may take to answer a question. @default 600000 */
  readonly stateLifetimeMs?: number;
  /** Longest run of a call; agents wait for minutes. @default 600000, or what a server has that is offered */
  readonly timeoutMs?: number;
}

/** Agents wait for minutes. */
const usualTimeoutMs = 600_000;

/** Offers methods, resources and prompts to agents, on both eras of MCP. */
export class McpServer extends Host {
  readonly info: Implementation;
  /** What is offered; it may change while clients are connected, and they are told. */
  readonly catalog: Catalog;
  readonly changes: Changes;
  readonly #tasks: Tasks;

  constructor(offered: Methods | Served, options: McpServerOptions) {
    const parts = assemble(offered, options);
    super(
      parts.handle,
      {
        ...options,
        timeoutMs: options.timeoutMs ?? usualTimeoutMs,
        profile: mcpProfile(takesBatches),
      },
      // These judge connections too, and so who a session belongs to.
      [...(isServed(offered) ? offered.use : []), ...(options.use ?? [])],
    );
    this.info = parts.info;
    this.catalog = parts.catalog;
    this.changes = parts.changes;
    this.#tasks = parts.tasks;
  }

  /** Tells those who asked that a resource has changed. */
  resourceUpdated(uri: string): void {
    this.changes.resourceUpdated(uri);
  }

  /** Tells clients of 2025-11-25 that a page which they sent their user to has done its work. */
  elicitationComplete(elicitationId: string): void {
    this.changes.elicitationComplete(elicitationId);
  }

  override close(options?: CloseOptions): Promise<void> {
    // These wait for nothing but this.
    this.changes.end();
    this.#tasks.end();
    return super.close(options);
  }
}

/** Makes a server of methods, or of a server of methods; `mcpMounts` and `serveMcpStdio` bring it clients. */
export function mcpServer(offered: Methods | Served, options: McpServerOptions): McpServer {
  return new McpServer(offered, options);
}

/** One revision of MCP has them. */
function takesBatches({ session }: Origin): boolean {
  return session instanceof Session && session.revision === "2025-03-26";
}

interface Parts {
  readonly handle: Handle;
  readonly info: Implementation;
  readonly catalog: Catalog;
  readonly changes: Changes;
  readonly tasks: Tasks;
}

function assemble(offered: Methods | Served, options: McpServerOptions): Parts {
  const { use = [], separator = "/", expose = "all", toJsonSchema, pageSize = 1_000 } = options;
  const { clock = systemClock, instructions, prompts = {}, resources = [] } = options;
  const { onRootsChanged, timeoutMs = usualTimeoutMs, stateLifetimeMs = 600_000 } = options;
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

  const tasks = new Tasks(clock, changes, options.tasks);
  const rounds = new Rounds(new RequestStates(clock, stateLifetimeMs, options.stateSecret));
  const shared = [
    ...listing(catalog, pageSize),
    ...features(catalog, rounds),
    ["tools/call", toolCalls(catalog, rounds, tasks)] as const,
  ].map(([name, operation]): [string, typeof operation] => [name, operation]);
  const info = implementationOf(options);
  const capabilities = (): ServerCapabilities => offeredBy(catalog, options);
  const legacy = new LegacyEra([...shared, ...legacyTaskOperations(tasks, pageSize)], {
    info,
    instructions,
    capabilities,
    catalog,
    changes,
    rootsChanged: onRootsChanged && new RootsChanged(onRootsChanged, clock, timeoutMs),
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
    if (incoming === undefined) throw new TypeError("middleware must pass on its context");
    const { _meta } = (request.params ?? {}) as { _meta?: Readonly<Record<string, unknown>> };
    const isModern =
      incoming.origin.session === modernWire || _meta?.[MetaKey.ProtocolVersion] !== undefined;
    return (isModern ? modern : legacy).handle(request, incoming);
  };
  return { handle, info, catalog, changes, tasks };
}

/** By its shape: it may come from another copy of the package. */
function isServed(offered: Methods | Served): offered is Served {
  return "answerer" in offered && typeof offered.handle === "function";
}

/** What a client may count on, from what there is. */
function offeredBy(
  { tools, prompts, resources, templates }: Catalog,
  options: McpServerOptions,
): ServerCapabilities {
  // What is empty now may be filled later, and clients ask only at the start.
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
    ...(hasTasks && {
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
      extensions: { [tasksExtension]: {} },
    }),
  };
}
