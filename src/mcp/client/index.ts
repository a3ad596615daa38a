/** A client for MCP servers of both eras, over HTTP or a channel of your own. @module */
export { McpError, McpErrorCode } from "../errors.ts";
export type { Progress } from "../results.ts";
export { type McpChannelLinkOptions, mcpChannelLink } from "./channel-wire.ts";
export type {
  CompletionReference,
  LogMessage,
  McpCallOptions,
  McpClientOptions,
  ToolCallOptions,
} from "./client-options.ts";
export type { NegotiationOptions, ServerDescription } from "./handshake.ts";
export { type McpHttpLinkOptions, mcpHttpLink } from "./http/http-link.ts";
export type { Authorization, Challenge } from "./http/http-sender.ts";
export type { InputContext, InputHandlers } from "./input.ts";
export type { Listing } from "./listing.ts";
export { type McpClient, mcpClient } from "./mcp-client.ts";
export { McpTask } from "./mcp-task.ts";
export { mcpMemoryLink } from "./memory-wire.ts";
export { OAuthError } from "./oauth/fetch-json.ts";
export { type OAuthOptions, oauth } from "./oauth/oauth.ts";
export type { TokenStore } from "./oauth/tokens.ts";
export type { McpParams } from "./protocol-client.ts";
export type {
  Change,
  ChangeListener,
  Subscription,
  SubscriptionFilter,
} from "./subscription.ts";
export type { ClientEnd, McpWire } from "./wire.ts";
