/** A client for MCP servers of both eras, over HTTP, standard input and output, or a channel of your own. @module callwire/mcp/client */
export { McpError, McpErrorCode } from "../errors.ts";
export { type McpChannelLinkOptions, mcpChannelLink } from "./channel-wire.ts";
export type {
  CompletionReference,
  LogMessage,
  McpCallOptions,
  McpClientOptions,
  Progress,
  ToolCallOptions,
} from "./client-options.ts";
export type { McpParams } from "./conversation.ts";
export type { NegotiationOptions, ServerDescription } from "./handshake.ts";
export type { Authorization, Challenge } from "./http/authorization.ts";
export type { McpHttpLinkOptions } from "./http-wire.ts";
export { mcpHttpLink } from "./http-wire-node.ts";
export type { InputContext, InputHandlers } from "./input.ts";
export type { Listing } from "./listing.ts";
export { type McpClient, mcpClient } from "./mcp-client.ts";
export { McpTask } from "./mcp-task.ts";
export { type OAuthOptions, oauth } from "./oauth/oauth.ts";
export { OAuthError } from "./oauth/oauth-error.ts";
export type { TokenStore } from "./oauth/token-store.ts";
export { type McpStdioLinkOptions, mcpStdioLink } from "./stdio-wire.ts";
export type {
  Change,
  ChangeListener,
  Subscription,
  SubscriptionFilter,
} from "./subscription.ts";
export type { ClientEnd, McpWire } from "./wire.ts";
