import type { HeaderRecord } from "../../http/client-exchange.ts";
import { type JsonSchemaIssue, jsonSchemaIssues } from "../../openrpc/json-schema-check.ts";
import { isRpcError } from "../../protocol/errors.ts";
import type { Log } from "../../protocol/log.ts";
import { badReply } from "../../protocol/pair.ts";
import { isRecord } from "../../protocol/record.ts";
import { McpErrorCode } from "../errors.ts";
import { headerValue, type ParamHeader, paramAt, paramHeaders } from "../header-values.ts";
import type { Result, TaskSupport, ToolDescription, ToolResult } from "../results.ts";
import type { CreateTaskResult, LegacyTask } from "../task.ts";
import { callOptions, type McpCallOptions, type ToolCallOptions } from "./client-options.ts";
import type { ServerDescription } from "./handshake.ts";
import type { Answering } from "./input.ts";
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
import { type Ends, signalOf } from "./waiting.ts";

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
    const capability = "tools" as const;
    const listed = { method: "tools/list", member: "tools", entry: toolEntry, capability };
    return listing(this.#protocol, listed, callOptions(options), learn);
  }

  async call(
    name: string,
    args: McpParams,
    options: ToolCallOptions & Ends,
    input?: Answering,
  ): Promise<ToolResult> {
    const begun = await this.begin(name, args, options, input);
    if (!(begun instanceof McpTask)) return begun;
    const signal = signalOf(options);
    try {
      return this.#checked(name, await begun.result(signal === undefined ? {} : { signal }));
    } catch (error) {
      if (signal?.aborted) void begun.cancel().catch(() => {});
      throw error;
    }
  }

  async begin(
    name: string,
    args: McpParams,
    options: ToolCallOptions & Ends,
    input?: Answering,
  ): Promise<ToolResult | McpTask> {
    const { task: asked, meta, ...rest } = options;
    const { server = await this.#protocol.connected("tools/call", rest) } = this.#protocol;
    const isLegacyTask =
      hasLegacyTasks(server) && (asked !== undefined || this.#known.needsTask(name));
    const ttl = asked?.ttlMs;
    const params = {
      name,
      arguments: args,
      ...(isLegacyTask && { task: ttl === undefined ? {} : { ttl } }),
      ...(meta !== undefined && { _meta: meta }),
    };
    const called = await this.#calledWithHeaders(name, args, params, rest, input);
    const result = checkedShape("tools/call", called, object());
    if (server.era === "modern" && result.resultType === "task") {
      const created = checkedShape("tools/call", result as CreateTaskResult, createdTask);
      return new McpTask(this.#protocol, created, input);
    }
    const { task } = result as { task?: LegacyTask };
    if (isLegacyTask && task !== undefined) {
      checkedShape("tools/call", result, object({ task: createdTask }));
      return new McpTask(this.#protocol, task, input);
    }
    return this.#checked(name, toolResult("tools/call", completed(result)));
  }

  /** If the server misses a header, lists the tools and calls again. */
  async #calledWithHeaders(
    name: string,
    args: McpParams,
    params: McpParams,
    options: McpCallOptions & Ends,
    input: Answering | undefined,
  ): Promise<Result> {
    const protocol = this.#protocol;
    const call = (): Promise<Result> => {
      const own = this.#known.headers(name, args);
      const all =
        own === undefined ? options : { ...options, headers: { ...options.headers, ...own } };
      return requestInRounds<Result>(protocol, "tools/call", params, callOptions(all), input);
    };
    if (!protocol.hasHeaders) return call();
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

interface KnownTool {
  readonly headers: readonly ParamHeader[];
  readonly output: IssuesOf | undefined;
  readonly taskSupport: TaskSupport;
}

/** Most tools remembered; others are called without headers and output check. */
const mostTools = 10_000;

/** What calls need to know about the tools that a server listed. */
export class KnownTools {
  readonly #known = new Map<string, KnownTool>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Remembers tools, and drops those whose `x-mcp-header` annotations are invalid if the wire has headers. */
  learn(tools: readonly ToolDescription[], hasHeaders: boolean): readonly ToolDescription[] {
    return tools.filter((tool) => {
      const { name, inputSchema, outputSchema, execution } = tool;
      let headers: readonly ParamHeader[] = [];
      try {
        if (hasHeaders) headers = paramHeaders(inputSchema);
      } catch (error) {
        this.#known.delete(name);
        this.#log.warn(
          { err: error, tool: name },
          "ignored a tool of an MCP server with an invalid x-mcp-header",
        );
        return false;
      }
      if (this.#known.size < mostTools || this.#known.has(name)) {
        const output = isRecord(outputSchema)
          ? jsonSchemaIssues(outputSchema, { patterns: false })
          : undefined;
        const taskSupport = execution?.taskSupport ?? "forbidden";
        this.#known.set(name, { headers, output, taskSupport });
      }
      return true;
    });
  }

  needsTask(name: string): boolean {
    return this.#known.get(name)?.taskSupport === "required";
  }

  /** The arguments that are also sent as headers. */
  headers(name: string, args: object): HeaderRecord | undefined {
    const known = this.#known.get(name);
    if (known === undefined || known.headers.length === 0) return undefined;
    const headers: Record<string, string> = {};
    for (const { header, path } of known.headers) {
      const value = paramAt(args, path);
      if (value !== undefined) headers[header] = headerValue(value);
    }
    return headers;
  }

  /** Throws if the structured content does not match the output schema of the tool. */
  check(name: string, result: ToolResult): void {
    const output = this.#known.get(name)?.output;
    if (output === undefined || result.isError === true) return;
    if (result.structuredContent === undefined) {
      throw badReply(`${name} has an output schema but returned no structured content`);
    }
    const fault = faultOf(output, result.structuredContent);
    if (fault !== undefined)
      throw badReply(`the structured content of ${name} does not match its schema: ${fault}`);
  }
}

type IssuesOf = (value: unknown) => JsonSchemaIssue[];

/** The first issue of a value; catches because a server may send anything as a schema. */
function faultOf(issuesOf: IssuesOf, value: unknown): string | undefined {
  try {
    const [issue] = issuesOf(value);
    return issue && `${issue.path.map(String).join(".")} ${issue.message}`.trim();
  } catch {
    return "it could not be checked";
  }
}
