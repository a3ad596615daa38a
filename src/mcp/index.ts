/** The Model Context Protocol for runtimes with `fetch`: methods as tools for agents. @module */

export { jsonSchema } from "../openrpc/json-schema-check.ts";
export type {
  ClientCapabilities,
  Icon,
  Implementation,
  LogLevel,
  ServerCapabilities,
} from "./capabilities.ts";
export type {
  ElicitParams,
  ElicitResult,
  InputRequest,
  Root,
  RootsResult,
  SampleMessage,
  SampleParams,
  SampleResult,
} from "./client-input.ts";
export {
  type Annotations,
  type AudioContent,
  audio,
  type ContentBlock,
  type EmbeddedResource,
  embedded,
  type ImageContent,
  image,
  type ResourceContents,
  type ResourceLink,
  type TextContent,
  text,
} from "./content.ts";
export { McpError, McpErrorCode } from "./errors.ts";
export {
  type McpGatewayOptions,
  type McpGatewayPart,
  type McpUpstream,
  mcpGateway,
} from "./gateway/gateway.ts";
export { type Meta, MetaKey } from "./meta-keys.ts";
export type {
  CompletionResult,
  DiscoverResult,
  InitializeResult,
  InputRequiredResult,
  PromptArgument,
  PromptDescription,
  PromptMessage,
  PromptResult,
  PromptsPage,
  ReadResult,
  ResourceDescription,
  ResourcesPage,
  ResourceTemplateDescription,
  ResourceTemplatesPage,
  TaskSupport,
  ToolAnnotations,
  ToolDescription,
  ToolResult,
  ToolsPage,
} from "./results.ts";
export { type LegacyRevision, type ModernRevision, type Revision, revisions } from "./revisions.ts";
export { agentTool, type MessagedAgent } from "./server/agent-tool.ts";
export type { AuthorizationOptions } from "./server/http/authorization.ts";
export type { McpHttpOptions } from "./server/http/mcp-endpoint.ts";
export { type McpFetchOptions, mcpFetchHandler } from "./server/http/mcp-fetch.ts";
export type { SessionOptions } from "./server/http/session-table.ts";
export { type AskOptions, type Elicited, type McpCall, mcpCall } from "./server/mcp-call.ts";
export { type McpServer, type McpServerOptions, mcpServer } from "./server/mcp-server.ts";
export type { ClientDescription } from "./server/operation.ts";
export { type Prompt, type PromptDefinition, type PromptOutput, prompt } from "./server/prompt.ts";
export {
  type Complete,
  type Resource,
  type ResourceOutput,
  resource,
  type StaticResource,
  type TemplateResource,
} from "./server/resource.ts";
export type { RootsListener } from "./server/roots-changed.ts";
export { type ServeMcpChannelOptions, serveMcpChannel } from "./server/serve-channel.ts";
export { type AnySchema, type ToolDefinition, type ToolOutput, tool } from "./server/tool.ts";
export type { CreateTaskResult, LegacyTask, Task, TaskResult, TaskStatus } from "./task.ts";
export type { TaskOptions } from "./task-table.ts";
