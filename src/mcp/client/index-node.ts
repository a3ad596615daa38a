/** A client for MCP servers of both eras, over HTTP, standard input and output, or a channel of your own. @module callwire/mcp/client */
export { McpError, McpErrorCode } from "../errors.ts";
export { mcpChannelLink } from "./channel-wire.ts";
export type * from "./index.ts";
export { mcpClient } from "./mcp-client.ts";
export { McpTask } from "./mcp-task.ts";
export { mcpMemoryLink } from "./memory-wire.ts";
export { OAuthError } from "./oauth/fetch-json.ts";
export { oauth } from "./oauth/oauth.ts";
export { type McpStdioLinkOptions, mcpHttpLink, mcpStdioLink } from "./wires-node.ts";
