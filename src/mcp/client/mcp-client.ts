/// <reference lib="esnext.disposable" preserve="true" />
import type { CallOptions } from "../../client/outgoing-call.ts";
import type { Clock } from "../../protocol/clock.ts";
import { isRpcError } from "../../protocol/errors.ts";
import type { Middleware } from "../../protocol/handle.ts";
import { consoleLog, type Log } from "../../protocol/log.ts";
import { badReply } from "../../protocol/pair.ts";
import type { Icon, Implementation, LogLevel } from "../capabilities.ts";
import type {
  PromptDescription,
  ResourceDescription,
  ResourceTemplateDescription,
  ToolDescription,
} from "../descriptions.ts";
import { McpErrorCode } from "../errors.ts";
import type { CompletionResult, PromptResult, ReadResult, Result, ToolResult } from "../results.ts";
import type { CreateTaskResult, LegacyTask } from "../task.ts";
import { Conversation, type McpParams } from "./conversation.ts";
import type { NegotiationOptions, ServerDescription } from "./handshake.ts";
import { Input, type InputHandlers } from "./input.ts";
import { KnownTools } from "./known-tools.ts";
import { Listening } from "./listening.ts";
import { type Listing, listing } from "./listing.ts";
import { McpTask } from "./mcp-task.ts";
import { inRounds } from "./rounds.ts";
import { Self } from "./self.ts";
import {
  type ChangeListener,
  type Subscription,
  type SubscriptionFilter,
  subscribeLegacy,
} from "./subscription.ts";
import type { McpWire } from "./wire.ts";

export interface LogMessage {
  readonly level: LogLevel;
  readonly logger?: string;
  readonly data: unknown;
}

/** How far a call is. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

export interface McpClientOptions extends InputHandlers, NegotiationOptions {
  /** What this client is called. */
  readonly name: string;
  readonly version: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly websiteUrl?: string;
  /** Hears what servers log. */
  readonly onLog?: (message: LogMessage) => void;
  /** From which level on. @default what the server does by itself */
  readonly logLevel?: LogLevel;
  /** Hears every notification of the server that is about no call. */
  readonly onNotification?: (method: string, params: McpParams) => void;
  /** How long a request may take; each report of progress starts it anew. @default 60000 */
  readonly timeoutMs?: number;
  /** Whether results are kept for as long as the server allows. @default true */
  readonly cache?: boolean;
  /** Whether the structured content of tools must fit the schema that they were listed with. @default true */
  readonly checkOutput?: boolean;
  /** Wraps every request; the first sees it first. */
  readonly use?: readonly Middleware[];
  /** @default warnings and errors to the console */
  readonly log?: Log;
  readonly clock?: Clock;
}

export interface McpCallOptions extends Omit<CallOptions, "onProgress" | "onGap"> {
  /** Hears how far the work is. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface ToolCallOptions extends McpCallOptions {
  /** Asks a server of 2025-11-25 to run the tool as a task; later servers decide that themselves. */
  readonly task?: { readonly ttlMs?: number } | undefined;
}

export type CompletionReference =
  | { readonly type: "ref/prompt"; readonly name: string }
  | { readonly type: "ref/resource"; readonly uri: string };

/** Uses the tools, resources and prompts of an MCP server of either era. */
export class McpClient implements AsyncDisposable {
  readonly #conversation: Conversation;
  readonly #tools: KnownTools;
  readonly #options: McpClientOptions;

  constructor(wire: McpWire, options: McpClientOptions) {
    const { log = consoleLog, logLevel, timeoutMs, clock, use = [], cache = true } = options;
    const input = new Input(options);
    this.#options = options;
    this.#tools = new KnownTools(log);
    this.#conversation = new Conversation(wire, {
      ...{ era: options.era, probeMs: options.probeMs },
      ...{ input, log, clock, timeoutMs, use, cache },
      self: new Self(infoOf(options), input.capabilities, logLevel),
    });
    this.#conversation.onNotified((method, params) => {
      if (method === "notifications/message") options.onLog?.(params as unknown as LogMessage);
      options.onNotification?.(method, params);
    });
  }

  /** What the server said of itself; undefined before the first request. */
  get server(): ServerDescription | undefined {
    return this.#conversation.server;
  }

  /** Greets the server. Every request does so by itself; this tells what came of it. */
  connect(): Promise<ServerDescription> {
    return this.#conversation.connect();
  }

  tools(options?: McpCallOptions): Listing<ToolDescription> {
    const learn = (tools: readonly ToolDescription[]): readonly ToolDescription[] =>
      this.#tools.learn(tools, this.#conversation.hasHeaders && this.server?.era === "modern");
    return listing(this.#conversation, "tools/list", "tools", plain(options), learn);
  }

  /** Calls a tool and waits for its result, also where the work goes on as a task. */
  async callTool(
    name: string,
    args: McpParams = {},
    options: ToolCallOptions = {},
  ): Promise<ToolResult> {
    const begun = await this.beginTool(name, args, options);
    if (!(begun instanceof McpTask)) return begun;
    const { signal } = options;
    try {
      return await this.#checked(name, await begun.result(signal === undefined ? {} : { signal }));
    } catch (error) {
      if (signal?.aborted) void begun.cancel().catch(() => {});
      throw error;
    }
  }

  /** Calls a tool; where the work goes on as a task, resolves with that. */
  async beginTool(
    name: string,
    args: McpParams = {},
    options: ToolCallOptions = {},
  ): Promise<ToolResult | McpTask> {
    const { era, revision } = await this.connect();
    const { task: asked, ...rest } = options;
    const isLegacyTask =
      revision === "2025-11-25" && (asked !== undefined || this.#tools.needsTask(name));
    const ttl = asked?.ttlMs;
    const params = {
      name,
      arguments: args,
      ...(isLegacyTask && { task: ttl === undefined ? {} : { ttl } }),
    };
    const result = await this.#calledWithHeaders(name, args, params, rest);
    if (era === "modern" && result.resultType === "task") {
      return new McpTask(this.#conversation, result as CreateTaskResult);
    }
    const { task } = result as { task?: LegacyTask };
    if (isLegacyTask && task !== undefined) return new McpTask(this.#conversation, task);
    return this.#checked(name, completed(result as ToolResult));
  }

  /** A task that was begun before, such as by another process. */
  async task(id: string): Promise<McpTask> {
    await this.connect();
    const task = await this.#conversation.request<LegacyTask>("tasks/get", { taskId: id });
    return new McpTask(this.#conversation, task);
  }

  resources(options?: McpCallOptions): Listing<ResourceDescription> {
    return listing(this.#conversation, "resources/list", "resources", plain(options));
  }

  resourceTemplates(options?: McpCallOptions): Listing<ResourceTemplateDescription> {
    const method = "resources/templates/list";
    return listing(this.#conversation, method, "resourceTemplates", plain(options));
  }

  async readResource(uri: string, options?: McpCallOptions): Promise<ReadResult> {
    return this.#rounds("resources/read", { uri }, options);
  }

  prompts(options?: McpCallOptions): Listing<PromptDescription> {
    return listing(this.#conversation, "prompts/list", "prompts", plain(options));
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options?: McpCallOptions,
  ): Promise<PromptResult> {
    return this.#rounds("prompts/get", { name, arguments: args }, options);
  }

  /** What an argument of a prompt, or a variable of a template, could be. */
  async complete(
    ref: CompletionReference,
    argument: { readonly name: string; readonly value: string },
    /** What is known already of the others. */
    known?: Readonly<Record<string, string>>,
    options?: McpCallOptions,
  ): Promise<CompletionResult["completion"]> {
    const context = known === undefined ? undefined : { arguments: known };
    const params = { ref, argument, ...(context !== undefined && { context }) };
    const { completion } = await this.request<CompletionResult>(
      "completion/complete",
      params,
      options,
    );
    return completion;
  }

  /** Hears of changes until it is closed; heals when the wire breaks. */
  async subscribe(filter: SubscriptionFilter, listener: ChangeListener): Promise<Subscription> {
    const { era } = await this.connect();
    return era === "modern"
      ? Listening.begin(this.#conversation, filter, listener)
      : subscribeLegacy(this.#conversation, filter, listener);
  }

  /** From which level on the server is to log. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.#conversation.self.logLevel = level;
    const { era } = await this.connect();
    // The modern era says it with each request.
    if (era === "legacy") await this.request("logging/setLevel", { level });
  }

  /** Tells a server of the legacy era to ask for the roots again; later ones ask when they need them. */
  async rootsChanged(): Promise<void> {
    const { era } = await this.connect();
    if (era === "legacy") await this.#conversation.notify("notifications/roots/list_changed");
  }

  /** Finds out whether the server is there. */
  async ping(options?: McpCallOptions): Promise<void> {
    const { era } = await this.connect();
    await this.request(era === "legacy" ? "ping" : "server/discover", {}, options);
  }

  /** Makes any request, such as one of an extension. */
  request<R = unknown>(method: string, params?: McpParams, options?: McpCallOptions): Promise<R> {
    return this.#conversation.request<R>(method, params, plain(options));
  }

  /** Ends the session and lets go of the wire. */
  close(): Promise<void> {
    return this.#conversation.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #rounds<R extends Result>(
    method: string,
    params: McpParams,
    options: McpCallOptions | undefined,
  ): Promise<R> {
    return completed(await inRounds<R>(this.#conversation, method, params, plain(options)));
  }

  /** Where a server misses a header, the tools are looked up and the call is made again. */
  async #calledWithHeaders(
    name: string,
    args: McpParams,
    params: McpParams,
    options: McpCallOptions,
  ): Promise<Result> {
    const call = (): Promise<Result> => {
      const headers = { ...options.headers, ...this.#tools.headers(name, args) };
      const all = { ...options, headers };
      return inRounds<Result>(this.#conversation, "tools/call", params, plain(all));
    };
    try {
      return await call();
    } catch (error) {
      if (!isRpcError(error, McpErrorCode.HeaderMismatch)) throw error;
      await this.tools().all();
      return call();
    }
  }

  async #checked(name: string, result: ToolResult): Promise<ToolResult> {
    if (this.#options.checkOutput !== false) await this.#tools.check(name, result);
    return result;
  }
}

/** Makes a client of a wire: `mcpClient(mcpHttpLink(url), { name: "host", version: "1.0.0" })`. */
export function mcpClient(wire: McpWire, options: McpClientOptions): McpClient {
  return new McpClient(wire, options);
}

function plain(options: McpCallOptions | undefined): CallOptions | undefined {
  const { onProgress } = options ?? {};
  if (onProgress === undefined) return options as CallOptions | undefined;
  return { ...options, onProgress: (value) => onProgress(value as Progress) };
}

/** A kind of result that nobody agreed on must not be taken for another. */
function completed<R extends Result>(result: R): R {
  const { resultType } = result ?? {};
  if (resultType === undefined || resultType === "complete") return result;
  throw badReply(`the server gave a result of the unknown kind ${JSON.stringify(resultType)}`);
}

function infoOf(options: McpClientOptions): Implementation {
  const { name, version, title, description, icons, websiteUrl } = options;
  return {
    name,
    version,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(icons !== undefined && { icons }),
    ...(websiteUrl !== undefined && { websiteUrl }),
  };
}
