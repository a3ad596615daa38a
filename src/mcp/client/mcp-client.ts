/// <reference lib="esnext.disposable" preserve="true" />
import { consoleLog } from "../../protocol/console-log.ts";
import { implementationOf, type LogLevel } from "../capabilities.ts";
import type {
  CompletionResult,
  PromptDescription,
  PromptResult,
  ReadResult,
  ResourceDescription,
  ResourceTemplateDescription,
  Result,
  ToolDescription,
  ToolResult,
} from "../results.ts";
import {
  type CompletionReference,
  callOptions,
  type LogMessage,
  type McpCallOptions,
  type McpClientOptions,
  type ToolCallOptions,
} from "./client-options.ts";
import { ClientDeclaration, type ServerDescription } from "./handshake.ts";
import { Input } from "./input.ts";
import { type Listing, listing } from "./listing.ts";
import { fetchTask, McpTask } from "./mcp-task.ts";
import { type McpParams, ProtocolClient } from "./protocol-client.ts";
import { requestInRounds } from "./request-rounds.ts";
import {
  checkedShape,
  completed,
  completionResult,
  promptEntry,
  promptResult,
  readResult,
  resourceEntry,
  type Shape,
  templateEntry,
} from "./result-shapes.ts";
import {
  type ChangeListener,
  type Subscription,
  type SubscriptionFilter,
  subscribe,
} from "./subscription.ts";
import { Tools } from "./tools.ts";
import type { McpWire } from "./wire.ts";

/** Uses the tools, resources and prompts of an MCP server of either era. */
export class McpClient implements AsyncDisposable {
  readonly #protocol: ProtocolClient;
  readonly #tools: Tools;

  constructor(wire: McpWire, options: McpClientOptions) {
    const info = implementationOf(options);
    const { log = consoleLog, logLevel, timeoutMs, clock, use = [], cache = true } = options;
    const input = new Input(options);
    this.#protocol = new ProtocolClient(wire, {
      ...{ era: options.era, probeMs: options.probeMs },
      ...{ input, log, clock, timeoutMs, use, cache },
      declaration: new ClientDeclaration(info, input, logLevel),
    });
    this.#tools = new Tools(this.#protocol, options.checkOutput !== false, log);
    this.#protocol.onNotified((method, params) => {
      if (method === "notifications/message") options.onLog?.(params as unknown as LogMessage);
      options.onNotification?.(method, params);
    });
  }

  /** How the server described itself; undefined before the first request. */
  get server(): ServerDescription | undefined {
    return this.#protocol.server;
  }

  /** Makes the handshake, which otherwise happens with the first request, and returns its result. */
  connect(): Promise<ServerDescription> {
    return this.#protocol.connect();
  }

  tools(options?: McpCallOptions): Listing<ToolDescription> {
    return this.#tools.list(options);
  }

  /** Calls a tool and waits for its result, also if it runs as a task. */
  callTool(name: string, args: McpParams = {}, options: ToolCallOptions = {}): Promise<ToolResult> {
    return this.#tools.call(name, args, options);
  }

  /** Calls a tool; resolves with the task if it runs as one. */
  beginTool(
    name: string,
    args: McpParams = {},
    options: ToolCallOptions = {},
  ): Promise<ToolResult | McpTask> {
    return this.#tools.begin(name, args, options);
  }

  /** A task that was started before, for example by another process. */
  async task(id: string): Promise<McpTask> {
    await this.connect();
    return new McpTask(this.#protocol, await fetchTask(this.#protocol, id));
  }

  resources(options?: McpCallOptions): Listing<ResourceDescription> {
    const capability = "resources" as const;
    const listed = {
      method: "resources/list",
      member: "resources",
      entry: resourceEntry,
      capability,
    };
    return listing(this.#protocol, listed, callOptions(options));
  }

  resourceTemplates(options?: McpCallOptions): Listing<ResourceTemplateDescription> {
    const capability = "resources" as const;
    const method = "resources/templates/list";
    const listed = { method, member: "resourceTemplates", entry: templateEntry, capability };
    return listing(this.#protocol, listed, callOptions(options));
  }

  async readResource(uri: string, options?: McpCallOptions): Promise<ReadResult> {
    return this.#rounds("resources/read", { uri }, options, readResult);
  }

  prompts(options?: McpCallOptions): Listing<PromptDescription> {
    const capability = "prompts" as const;
    const listed = { method: "prompts/list", member: "prompts", entry: promptEntry, capability };
    return listing(this.#protocol, listed, callOptions(options));
  }

  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options?: McpCallOptions,
  ): Promise<PromptResult> {
    return this.#rounds("prompts/get", { name, arguments: args }, options, promptResult);
  }

  /** Suggests values for an argument of a prompt or a variable of a template. */
  async complete(
    ref: CompletionReference,
    argument: { readonly name: string; readonly value: string },
    /** Values of the other arguments that are already chosen. */
    known?: Readonly<Record<string, string>>,
    options?: McpCallOptions,
  ): Promise<CompletionResult["completion"]> {
    const context = known === undefined ? undefined : { arguments: known };
    const params = { ref, argument, ...(context !== undefined && { context }) };
    const method = "completion/complete";
    const result = completed(await this.request<CompletionResult>(method, params, options));
    return checkedShape(method, result, completionResult).completion;
  }

  /** Reports changes until it is closed; resubscribes after a reconnect. */
  subscribe(filter: SubscriptionFilter, listener: ChangeListener): Promise<Subscription> {
    return subscribe(this.#protocol, filter, listener);
  }

  /** Sets the least severe level of log messages to receive. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.#protocol.declaration.logLevel = level;
    const { era } = await this.connect();
    // Modern requests carry the level.
    if (era === "legacy") await this.request("logging/setLevel", { level });
  }

  /** Notifies a legacy server that the roots changed; modern servers ask when they need them. */
  async rootsChanged(): Promise<void> {
    const { era } = await this.connect();
    if (era === "legacy") await this.#protocol.notify("notifications/roots/list_changed");
  }

  /** Resolves if the server answers. */
  async ping(options?: McpCallOptions): Promise<void> {
    const { era } = await this.#protocol.connected("ping", options);
    await this.request(era === "legacy" ? "ping" : "server/discover", {}, options);
  }

  /** Sends any request, such as one of an extension. */
  request<R = unknown>(method: string, params?: McpParams, options?: McpCallOptions): Promise<R> {
    return this.#protocol.request<R>(method, params, callOptions(options));
  }

  /** Ends the session and closes the wire. */
  close(): Promise<void> {
    return this.#protocol.close();
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
    const result = await requestInRounds<R>(this.#protocol, method, params, callOptions(options));
    return checkedShape(method, completed(result), shape);
  }
}

/**
 * Creates a client for a wire: `mcpClient(mcpHttpLink(url), { name: "host", version: "1.0.0" })`.
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
