import type { HeaderRecord } from "../../framing/http-exchange.ts";
import type { Log } from "../../protocol/log.ts";
import { badReply } from "../../protocol/pair.ts";
import { headerValue, type ParamHeader, paramAt, paramHeaders } from "../header-values.ts";
import { type JsonSchemaIssue, jsonSchemaIssues } from "../json-schema.ts";
import { isRecord } from "../record.ts";
import type { TaskSupport, ToolDescription, ToolResult } from "../results.ts";

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
