import type { HeaderRecord } from "../../http/client-exchange.ts";
import type { Log } from "../../protocol/log.ts";
import { badReply } from "../../protocol/pair.ts";
import type { TaskSupport, ToolDescription } from "../descriptions.ts";
import { headerValue, type ParamHeader, paramAt, paramHeaders } from "../header-values.ts";
import { type JsonSchemaIssue, jsonSchemaIssues } from "../json-schema.ts";
import { isRecord } from "../record.ts";
import type { ToolResult } from "../results.ts";

interface KnownTool {
  readonly headers: readonly ParamHeader[];
  readonly output: IssuesOf | undefined;
  readonly taskSupport: TaskSupport;
}

/** Most tools that are remembered; calls of others go out without what is known of them. */
const mostTools = 10_000;

/** What the lists of a server said about its tools, as far as calls need it. */
export class KnownTools {
  readonly #known = new Map<string, KnownTool>();
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** Remembers tools. Where params travel as headers, one that breaks the rules on them is left out. */
  learn(tools: readonly ToolDescription[], hasHeaders: boolean): readonly ToolDescription[] {
    return tools.filter((tool) => {
      const { name, inputSchema, outputSchema, execution } = tool;
      let headers: readonly ParamHeader[] = [];
      try {
        if (hasHeaders) headers = paramHeaders(inputSchema);
      } catch (error) {
        this.#known.delete(name);
        this.#log.warn({ err: error, tool: name }, "a tool of an MCP server cannot be called");
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

  /** The arguments that travel as headers too. */
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

  /** Throws when structured content is not what the tool said that it gives. */
  check(name: string, result: ToolResult): void {
    const output = this.#known.get(name)?.output;
    if (output === undefined || result.isError === true) return;
    if (result.structuredContent === undefined) {
      throw badReply(`${name} has an output schema and gave no structured content`);
    }
    const fault = faultOf(output, result.structuredContent);
    if (fault !== undefined) throw badReply(`what ${name} gave does not fit its schema: ${fault}`);
  }
}

type IssuesOf = (value: unknown) => JsonSchemaIssue[];

/** The first that is wrong with a value. A server may call anything a schema. */
function faultOf(issuesOf: IssuesOf, value: unknown): string | undefined {
  try {
    const [issue] = issuesOf(value);
    return issue && `${issue.path.map(String).join(".")} ${issue.message}`.trim();
  } catch {
    return "it cannot be read";
  }
}
