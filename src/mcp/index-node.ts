/** The Model Context Protocol: methods as tools for agents. @module callwire/mcp */

export { jsonSchema } from "../openrpc/json-schema-check.ts";
export { audio, embedded, image, text } from "./content.ts";
export { McpError, McpErrorCode } from "./errors.ts";
export { mcpGateway } from "./gateway/gateway.ts";
export type * from "./index.ts";
export { MetaKey } from "./meta-keys.ts";
export { revisions } from "./revisions.ts";
export { agentTool } from "./server/agent-tool.ts";
export { mcpFetchHandler } from "./server/http/mcp-fetch.ts";
export { type McpMountOptions, mcpHandler, mcpMounts } from "./server/http/mcp-mounts.ts";
export { mcpCall } from "./server/mcp-call.ts";
export { mcpServer } from "./server/mcp-server.ts";
export { prompt } from "./server/prompt.ts";
export { resource } from "./server/resource.ts";
export { serveMcpChannel } from "./server/serve-channel.ts";
export { serveMcpStdio } from "./server/serve-stdio.ts";
export { tool } from "./server/tool.ts";
