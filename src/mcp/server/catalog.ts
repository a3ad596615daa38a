import type { ToJsonSchema } from "../../openrpc/json-schema.ts";
import { satisfies } from "../../protocol/access.ts";
import { consoleLog } from "../../protocol/console-log.ts";
import type { Context } from "../../protocol/context.ts";
import { compose, type Handle, type Middleware, visibility } from "../../protocol/handle.ts";
import type { Log } from "../../protocol/log.ts";
import { failure } from "../../protocol/message.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import { Method, type Methods } from "../../server/method.ts";
import { createRouter, type MethodTable, tableOf } from "../../server/router.ts";
import { paramHeaders } from "../header-values.ts";
import type { ToolResult } from "../results.ts";
import type { Changes } from "./changes.ts";
import { described, type FeatureGroup, type GroupTool } from "./feature-group.ts";
import { type Prompt, type PromptFeature, promptFeature } from "./prompt.ts";
import type { Resource } from "./resource.ts";
import { type ToolFeature, toolFeature, toolName } from "./tool-feature.ts";

/** Methods with their own middleware, such as those of a server. */
export interface Served {
  readonly methods: MethodTable;
  readonly handle: Handle;
  /** The middleware inside `handle`. */
  readonly use: readonly Middleware[];
  /** Longest run of a call, if the server limits it. */
  readonly timeoutMs?: number | undefined;
  visible(method: string, context: Context): boolean;
}

export interface CatalogOptions {
  readonly use: readonly Middleware[];
  readonly separator: string;
  /** "marked" offers only methods whose definition has `tool`. */
  readonly expose: "all" | "marked" | ((method: string) => boolean);
  readonly toJsonSchema: ToJsonSchema | undefined;
  /** Longest run of a call; replaces the limit of an offered server. */
  readonly timeoutMs: number | undefined;
}

interface Visible {
  readonly visible: (context: Context) => boolean;
}

/** Applies the time limit of the server itself. */
function limited({ handle, timeoutMs }: Served): Handle {
  if (timeoutMs === undefined) return handle;
  return (request, context) => {
    context.limit?.(timeoutMs);
    return handle(request, context);
  };
}

/** The tools, prompts and resources of a server. Changes are reported to connected clients. */
export class Catalog {
  readonly tools = new Map<string, ToolFeature & Visible>();
  readonly prompts = new Map<string, PromptFeature & Visible>();
  readonly resources = new Map<string, Resource & Visible>();
  readonly templates = new Map<string, Resource & Visible>();
  /** Runs the features behind the middleware, by the method names that middleware sees. */
  readonly dispatch: Handle;
  readonly #groups = new Map<string, FeatureGroup>();
  readonly #own = new Map<string, Handle>();
  readonly #options: CatalogOptions;
  readonly #changes: Changes;
  readonly #mayKnow: (method: string, context: Context) => boolean;

  constructor(options: CatalogOptions, changes: Changes) {
    this.#options = options;
    this.#changes = changes;
    this.#mayKnow = visibility(options.use);
    const unknownName = failure(methodNotFound);
    this.dispatch = compose(options.use, (request, context) => {
      const own = this.#own.get(request.method);
      return own === undefined ? unknownName : own(request, context);
    });
  }

  /** Offers methods as tools. */
  addMethods(methods: Methods): void {
    const table = tableOf(methods, this.#options.separator);
    const router = createRouter(table);
    for (const [name, method] of table) {
      if (!this.#isOffered(name, method)) continue;
      if (this.#own.has(name)) throw new TypeError(`"${name}" is defined twice`);
      this.#own.set(name, router);
      const { access } = method.definition;
      this.#addTool(name, method, this.dispatch, (each, context) => {
        const mayCall =
          access === undefined || satisfies(access, context.principal, context.transport);
        return mayCall && this.#mayKnow(each, context);
      });
    }
    this.#changes.listChanged("tools");
  }

  /** Offers the methods of a server, behind the server's own middleware. */
  addServed(served: Served): void {
    const handle = this.#options.timeoutMs === undefined ? limited(served) : served.handle;
    const dispatch = compose(this.#options.use, handle);
    for (const [name, method] of served.methods) {
      if (!this.#isOffered(name, method)) continue;
      this.#addTool(
        name,
        method,
        dispatch,
        (each, context) => this.#mayKnow(each, context) && served.visible(each, context),
      );
    }
    this.#changes.listChanged("tools");
  }

  /** By the name that agents see. */
  removeTool(name: string): boolean {
    const tool = this.tools.get(name);
    if (tool === undefined) return false;
    this.tools.delete(name);
    if (tool.dispatch === this.dispatch) this.#own.delete(tool.method);
    this.#changes.listChanged("tools");
    return true;
  }

  /** Replaces what a server behind a gateway has. Clients are notified of the lists that changed. */
  setGroup(group: string, features: FeatureGroup, log: Log = consoleLog): void {
    const before = this.#groups.get(group);
    const old = before && described(before);
    if (before !== undefined) this.#removeGroup(before);
    const add = <T>(all: readonly T[], put: (each: T) => void): T[] =>
      all.filter((each) => {
        try {
          put(each);
          return true;
        } catch (error) {
          log.warn({ err: error, server: group }, "ignored an entry of an MCP server");
          return false;
        }
      });
    const { unlisted } = features;
    const kept: FeatureGroup = {
      tools: add(features.tools, (each) => this.#putGroupTool(each)),
      prompts: add(features.prompts, ([name, prompt]) => this.#putPrompt(name, prompt)),
      resources: add(features.resources, (each) => this.#putResource(each)),
      unlisted,
    };
    if (unlisted !== undefined) this.#putReader(unlisted.resource);
    this.#groups.set(group, kept);
    const now = described(kept);
    for (const kind of ["tools", "prompts", "resources"] as const) {
      if ((old?.[kind] ?? "[]") !== now[kind]) this.#changes.listChanged(kind);
    }
  }

  /** The server behind a gateway that has a resource. */
  groupOf(uri: string): string | undefined {
    for (const [group, { resources, unlisted }] of this.#groups) {
      const isListed = resources.some(({ definition, template }) =>
        "uri" in definition ? definition.uri === uri : template?.match(uri) !== undefined,
      );
      if (isListed || unlisted?.has(uri)) return group;
    }
    return undefined;
  }

  /** What reads a resource that is not listed. */
  unlisted(uri: string, context: Context): Resource | undefined {
    for (const { unlisted } of this.#groups.values()) {
      if (!unlisted?.has(uri)) continue;
      return this.#mayKnow(methodOf(unlisted.resource), context) ? unlisted.resource : undefined;
    }
    return undefined;
  }

  #removeGroup({ tools, prompts, resources, unlisted }: FeatureGroup): void {
    for (const { method } of tools) {
      this.#own.delete(method);
      for (const [name, tool] of this.tools) if (tool.method === method) this.tools.delete(name);
    }
    for (const [name] of prompts) this.#dropPrompt(name);
    for (const { definition } of resources) {
      this.#dropResource("uri" in definition ? definition.uri : definition.uriTemplate);
    }
    if (unlisted !== undefined) this.#own.delete(methodOf(unlisted.resource));
  }

  #putGroupTool({ description, method, taskSupport, run }: GroupTool): void {
    if (this.#own.has(method)) throw new TypeError(`"${method}" is defined twice`);
    const name = toolName(description.name, (other) => this.tools.has(other));
    const headers = paramHeaders(description.inputSchema);
    const handler = new Method("method", {}, run as (...args: never[]) => unknown);
    this.#own.set(method, createRouter(new Map([[method, handler]])));
    this.tools.set(name, {
      name,
      method,
      dispatch: this.dispatch,
      description: { ...description, name },
      headers,
      paramsOf: (args) => args,
      result: (value) => value as ToolResult,
      taskSupport,
      beginsTask: false,
      streams: false,
      visible: (context) => this.#mayKnow(method, context),
    });
  }

  addPrompt(name: string, prompt: Prompt): void {
    this.#putPrompt(name, prompt);
    this.#changes.listChanged("prompts");
  }

  #putPrompt(name: string, prompt: Prompt): void {
    if (this.prompts.has(name)) throw new TypeError(`prompt "${name}" is defined twice`);
    const feature = promptFeature(name, prompt, this.#options.toJsonSchema);
    if (this.#own.has(feature.method)) throw new TypeError(`"${feature.method}" is defined twice`);
    this.#own.set(feature.method, createRouter(new Map([[feature.method, feature.handler]])));
    const visible = (context: Context): boolean => this.#mayKnow(feature.method, context);
    this.prompts.set(name, { ...feature, visible });
  }

  removePrompt(name: string): boolean {
    const wasThere = this.#dropPrompt(name);
    if (wasThere) this.#changes.listChanged("prompts");
    return wasThere;
  }

  #dropPrompt(name: string): boolean {
    this.#own.delete(`prompts/${name}`);
    return this.prompts.delete(name);
  }

  addResource(resource: Resource): void {
    this.#putResource(resource);
    this.#changes.listChanged("resources");
  }

  #putResource(resource: Resource): void {
    const { definition, name, template } = resource;
    const method = methodOf(resource);
    const uri = "uri" in definition ? definition.uri : definition.uriTemplate;
    if (this.#own.has(method)) throw new TypeError(`two resources are named "${name}"`);
    if (this.resources.has(uri) || this.templates.has(uri)) {
      throw new TypeError(`two resources have the URI "${uri}"`);
    }
    this.#putReader(resource);
    const visible = (context: Context): boolean => this.#mayKnow(method, context);
    const kind = template === undefined ? this.resources : this.templates;
    kind.set(uri, { ...resource, visible });
  }

  #putReader(resource: Resource): void {
    const method = methodOf(resource);
    const handler = new Method("method", {}, readerOf(resource));
    this.#own.set(method, createRouter(new Map([[method, handler]])));
  }

  /** By URI or template. */
  removeResource(uri: string): boolean {
    const wasThere = this.#dropResource(uri);
    if (wasThere) this.#changes.listChanged("resources");
    return wasThere;
  }

  #dropResource(uri: string): boolean {
    const found = this.resources.get(uri) ?? this.templates.get(uri);
    if (found === undefined) return false;
    this.#own.delete(methodOf(found));
    this.resources.delete(uri);
    this.templates.delete(uri);
    return true;
  }

  #isOffered(name: string, { definition }: Method): boolean {
    const { expose } = this.#options;
    if (definition.tool === false) return false;
    if (typeof expose === "function") return expose(name);
    return expose === "all" || definition.tool !== undefined;
  }

  #addTool(
    name: string,
    method: Method,
    dispatch: Handle,
    mayKnow: (method: string, context: Context) => boolean,
  ): void {
    const { toJsonSchema } = this.#options;
    const isTaken = (other: string): boolean => this.tools.has(other);
    const feature = toolFeature(name, method, { dispatch, toJsonSchema, isTaken });
    const visible = (context: Context): boolean => mayKnow(name, context);
    this.tools.set(feature.name, { ...feature, visible });
  }
}

/** The method name under which middleware sees the reading of a resource. */
export function methodOf({ name, method = `resources/${name}` }: Resource): string {
  return method;
}

/** Params of the method that reads a resource. */
export interface ReadParams {
  readonly uri: string;
  readonly variables: Readonly<Record<string, string>>;
}

function readerOf({ definition }: Resource): (params: ReadParams, call: Context) => unknown {
  return ({ uri, variables }, call) =>
    "uri" in definition
      ? definition.read(uri, call as never)
      : definition.read(variables, uri, call as never);
}
