import type { ToolDescription } from "callwire/mcp";
import {
  type JsonSchema,
  type OpenrpcDocument,
  type OpenrpcMethod,
  readDocument,
} from "callwire/openrpc";
import type { Flags } from "./command.ts";
import { timeoutOf } from "./command-arguments.ts";
import { documentFrom } from "./document-source.ts";
import { isHttpUrl } from "./link-from-url.ts";
import { linkOptionsOf, type serverOptions } from "./server-options.ts";

/** The methods of a server or a file; those of an MCP server are its tools. */
export async function describedSource(
  source: string,
  flags: Flags<typeof serverOptions>,
): Promise<OpenrpcDocument> {
  try {
    return readDocument(await documentFrom(source, flags));
  } catch (error) {
    if (!isHttpUrl(source) && !source.startsWith("stdio:")) throw error;
    const tools = await toolsOf(source, flags).catch(() => undefined);
    if (tools === undefined) throw error;
    return {
      openrpc: "1.3.2",
      info: { title: source, version: "" },
      methods: tools.map(methodOf),
    };
  }
}

async function toolsOf(
  url: string,
  flags: Flags<typeof serverOptions>,
): Promise<readonly ToolDescription[]> {
  const { headers, transcript } = linkOptionsOf(flags);
  const { askServer } = await import("./mcp/ask-server.ts");
  return askServer(
    {
      url,
      name: "",
      headers,
      transcript,
      timeoutMs: timeoutOf(flags.timeout),
      tokens: undefined,
      names: undefined,
    },
    (client) => client.tools().all(),
  );
}

function methodOf({ name, title, description, inputSchema }: ToolDescription): OpenrpcMethod {
  const { properties = {}, required = [] } = (inputSchema ?? {}) as {
    properties?: Readonly<Record<string, JsonSchema>>;
    required?: readonly string[];
  };
  const [first = ""] = (title ?? description ?? "").split("\n");
  return {
    name,
    ...(first !== "" && { summary: first }),
    ...(description !== undefined && description !== first && { description }),
    paramStructure: "by-name",
    params: Object.entries(properties).map(([param, schema]) => ({
      name: param,
      required: required.includes(param),
      schema,
    })),
  };
}
