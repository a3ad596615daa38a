/** A client for MCP servers of both eras, over HTTP, standard input and output, or a channel of your own. @module */
export * from "./index.ts";
export { type McpStdioLinkOptions, mcpStdioLink } from "./stdio-wire.ts";
