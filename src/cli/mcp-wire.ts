import type { McpWire } from "callwire/mcp/client";
import { Failure } from "./failure.ts";
import { type LinkOptions, wordsOf } from "./link-from-url.ts";

/** The way to the MCP server that an address names. */
export async function mcpWireFrom(url: string, options: LinkOptions): Promise<McpWire> {
  const { headers = {}, transcript } = options;
  const tap =
    transcript === undefined
      ? undefined
      : (text: string, direction: "sent" | "received") => transcript[direction](text);
  const { mcpHttpLink, mcpStdioLink } = await import("callwire/mcp/client");
  if (/^https?:\/\//.test(url)) return mcpHttpLink(url, { headers, tap });
  const [, line = ""] = /^stdio:(.*)$/s.exec(url) ?? [];
  const [program, ...args] = wordsOf(line);
  if (program === undefined) {
    throw new Failure(
      `${JSON.stringify(url)} is no address of MCP; those are http://, https:// or stdio:command`,
    );
  }
  if (Object.keys(headers).length > 0) throw new Failure("a program takes no headers");
  return mcpStdioLink(program, args, { reconnect: false, tap });
}
