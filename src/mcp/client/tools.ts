import { isRpcError } from "../../protocol/errors.ts";
import type { Log } from "../../protocol/log.ts";
import { McpErrorCode } from "../errors.ts";
import type { Result, ToolDescription, ToolResult } from "../results.ts";
import type { CreateTaskResult, LegacyTask } from "../task.ts";
import { callOptions, type McpCallOptions, type ToolCallOptions } from "./client-options.ts";
import type { ServerDescription } from "./handshake.ts";
import { KnownTools } from "./known-tools.ts";
import { type Listing, listing } from "./listing.ts";
import { McpTask } from "./mcp-task.ts";
import type { McpParams, ProtocolClient } from "./protocol-client.ts";
import { requestInRounds } from "./request-rounds.ts";
import {
  checkedShape,
  completed,
  createdTask,
  object,
  toolEntry,
  toolResult,
} from "./result-shapes.ts";

/** Lists and calls the tools of a server; calls use what the lists say about a tool. */
export class Tools {
  readonly #protocol: ProtocolClient;
  readonly #known: KnownTools;
  readonly #checksOutput: boolean;

  constructor(protocol: ProtocolClient, checksOutput: boolean, log: Log) {
    this.#protocol = protocol;
    this.#known = new KnownTools(log);
    this.#checksOutput = checksOutput;
  }

  list(options?: McpCallOptions): Listing<ToolDescription> {
    // Read when a page arrives: the era is unknown before the first request.
    const learn = (tools: readonly ToolDescription[]): readonly ToolDescription[] => {
      const { hasHeaders, server } = this.#protocol;
      return this.#known.learn(tools, hasHeaders && server?.era === "modern");
    };
    const listed = { method: "tools/list", member: "tools", entry: toolEntry };
    return listing(this.#protocol, listed, callOptions(options), learn);
  }

  /** Calls a tool and waits for its result, also if it runs as a task. */
  async call(name: string, args: McpParams, options: ToolCallOptions): Promise<ToolResult> {
    const begun = await this.begin(name, args, options);
    if (!(begun instanceof McpTask)) return begun;
    const { signal } = options;
    try {
      return this.#checked(name, await begun.result(signal === undefined ? {} : { signal }));
    } catch (error) {
      if (signal?.aborted) void begun.cancel().catch(() => {});
      throw error;
    }
  }

  /** Calls a tool; resolves with the task if it runs as one. */
  async begin(
    name: string,
    args: McpParams,
    options: ToolCallOptions,
  ): Promise<ToolResult | McpTask> {
    const { task: asked, ...rest } = options;
    const server = await this.#protocol.connected("tools/call", rest);
    const isLegacyTask =
      hasLegacyTasks(server) && (asked !== undefined || this.#known.needsTask(name));
    const ttl = asked?.ttlMs;
    const params = {
      name,
      arguments: args,
      ...(isLegacyTask && { task: ttl === undefined ? {} : { ttl } }),
    };
    const called = await this.#calledWithHeaders(name, args, params, rest);
    const result = checkedShape("tools/call", called, object());
    if (server.era === "modern" && result.resultType === "task") {
      const created = checkedShape("tools/call", result as CreateTaskResult, createdTask);
      return new McpTask(this.#protocol, created);
    }
    const { task } = result as { task?: LegacyTask };
    if (isLegacyTask && task !== undefined) {
      checkedShape("tools/call", result, object({ task: createdTask }));
      return new McpTask(this.#protocol, task);
    }
    return this.#checked(name, toolResult("tools/call", completed(result)));
  }

  /** If the server misses a header, lists the tools and calls again. */
  async #calledWithHeaders(
    name: string,
    args: McpParams,
    params: McpParams,
    options: McpCallOptions,
  ): Promise<Result> {
    const call = (): Promise<Result> => {
      const headers = { ...options.headers, ...this.#known.headers(name, args) };
      const all = { ...options, headers };
      return requestInRounds<Result>(this.#protocol, "tools/call", params, callOptions(all));
    };
    try {
      return await call();
    } catch (error) {
      if (!isRpcError(error, McpErrorCode.HeaderMismatch)) throw error;
      await this.list().all();
      return call();
    }
  }

  #checked(name: string, result: ToolResult): ToolResult {
    if (this.#checksOutput) this.#known.check(name, result);
    return result;
  }
}

/** Whether a server of 2025-11-25 declares that its tools can run as tasks. */
function hasLegacyTasks({ revision, capabilities }: ServerDescription): boolean {
  const { requests } = (capabilities.tasks ?? {}) as { requests?: { tools?: { call?: unknown } } };
  return revision === "2025-11-25" && requests?.tools?.call !== undefined;
}
