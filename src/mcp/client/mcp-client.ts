/// <reference lib="esnext.disposable" preserve="true" />
import { consoleLog } from "../../protocol/console-log.ts";
import { implementationOf, type LogLevel } from "../capabilities.ts";
import type {
  PromptDescription,
  ResourceDescription,
  ResourceTemplateDescription,
  ToolDescription,
} from "../descriptions.ts";
import type { CompletionResult, PromptResult, ReadResult, Result, ToolResult } from "../results.ts";
import {
  type CompletionReference,
  callOptions,
  type LogMessage,
  type McpCallOptions,
  type McpClientOptions,
  type ToolCallOptions,
} from "./client-options.ts";
import { completed } from "./completed.ts";
import { Conversation, type McpParams } from "./conversation.ts";
import type { ServerDescription } from "./handshake.ts";
import { Input } from "./input.ts";
import { Listening } from "./listening.ts";
import { type Listing, listing } from "./listing.ts";
import { askedTask, McpTask } from "./mcp-task.ts";
import {
  completionResult,
  fitting,
  promptEntry,
  promptResult,
  readResult,
  resourceEntry,
  type Shape,
  templateEntry,
} from "./result-shapes.ts";
import { inRounds } from "./rounds.ts";
import { Self } from "./self.ts";
import {
  type ChangeListener,
  type Subscription,
  type SubscriptionFilter,
  subscribeLegacy,
} from "./subscription.ts";
import { Tools } from "./tools.ts";
import type { McpWire } from "./wire.ts";

/** Uses the tools, resources and prompts of an MCP server of either era. */
export class McpClient implements AsyncDisposable {
  readonly #conversation: Conversation;
  readonly #tools: Tools;

  constructor(wire: McpWire, options: McpClientOptions) {
    const { log = consoleLog, logLevel, timeoutMs, clock, use = [], cache = true } = options;
    const input = new Input(options);
    this.#conversation = new Conversation(wire, {
      ...{ era: options.era, probeMs: options.probeMs },
      ...{ input, log, clock, timeoutMs, use, cache },
      self: new Self(implementationOf(options), input, logLevel),
    });
    this.#tools = new Tools(this.#conversation, options.checkOutput !== false, log);
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
    return this.#tools.list(options);
  }

  /** Calls a tool and waits for its result, also where the work goes on as a task. */
  callTool(name: string, args: McpParams = {}, options: ToolCallOptions = {}): Promise<ToolResult> {
    return this.#tools.call(name, args, options);
  }

  /** Calls a tool; where the work goes on as a task, resolves with that. */
  beginTool(
    name: string,
    args: McpParams = {},
    options: ToolCallOptions = {},
  ): Promise<ToolResult | McpTask> {
    return this.#tools.begin(name, args, options);
  }

  /** A task that was begun before, such as by another process. */
  async task(id: string): Promise<McpTask> {
    await this.connect();
    return new McpTask(this.#conversation, await askedTask(this.#conversation, id));
  }

  resources(options?: McpCallOptions): Listing<ResourceDescription> {
    const listed = { method: "resources/list", member: "resources", entry: resourceEntry };
    return listing(this.#conversation, listed, callOptions(options));
  }

  resourceTemplates(options?: McpCallOptions): Listing<ResourceTemplateDescription> {
    const method = "resources/templates/list";
    const listed = { method, member: "resourceTemplates", entry: templateEntry };
    return listing(this.#conversation, listed, callOptions(options));
  }

  async readResource(uri: string, options?: McpCallOptions): Promise<ReadResult> {
    return this.#rounds("resources/read", { uri }, options, readResult);
  }

  prompts(options?: McpCallOptions): Listing<PromptDescription> {
    const listed = { method: "prompts/list", member: "prompts", entry: promptEntry };
    return listing(this.#conversation, listed, callOptions(options));
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options?: McpCallOptions,
  ): Promise<PromptResult> {
    return this.#rounds("prompts/get", { name, arguments: args }, options, promptResult);
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
    const method = "completion/complete";
    const result = completed(await this.request<CompletionResult>(method, params, options));
    return fitting(method, result, completionResult).completion;
  }

  /** Hears of changes until it is closed; heals when the wire breaks. */
  async subscribe(filter: SubscriptionFilter, listener: ChangeListener): Promise<Subscription> {
    const { era } = await this.connect();
    const { log } = this.#conversation;
    const heard: ChangeListener = (change) => {
      try {
        listener(change);
      } catch (error) {
        log.error({ err: error, change: change.kind }, "a listener threw");
      }
    };
    return era === "modern"
      ? Listening.begin(this.#conversation, filter, heard)
      : subscribeLegacy(this.#conversation, filter, heard);
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
    const { era } = await this.#conversation.connected("ping", options);
    await this.request(era === "legacy" ? "ping" : "server/discover", {}, options);
  }

  /** Makes any request, such as one of an extension. */
  request<R = unknown>(method: string, params?: McpParams, options?: McpCallOptions): Promise<R> {
    return this.#conversation.request<R>(method, params, callOptions(options));
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
    shape: Shape,
  ): Promise<R> {
    const result = await inRounds<R>(this.#conversation, method, params, callOptions(options));
    return fitting(method, completed(result), shape);
  }
}

/**
 * Makes a client of a wire: `mcpClient(mcpHttpLink(url), { name: "host", version: "1.0.0" })`.
 * @example
 * ```ts
 * import { mcpClient, mcpHttpLink } from "callwire/mcp/client";
 *
 * await using client = mcpClient(mcpHttpLink("https://example.com/mcp"), {
 *   name: "my-host",
 *   version: "1.0.0",
 * });
 * for await (const { name, description } of client.tools()) console.log(name, description);
 * const { content } = await client.callTool("math_add", { a: 2, b: 3 });
 * ```
 */
export function mcpClient(wire: McpWire, options: McpClientOptions): McpClient {
  return new McpClient(wire, options);
}
