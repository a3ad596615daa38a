/** The Model Context Protocol: methods as tools for agents, and a client for the servers of others. @module */
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
export type {
  PromptArgument,
  PromptDescription,
  ResourceDescription,
  ResourceTemplateDescription,
  TaskSupport,
  ToolAnnotations,
  ToolDescription,
} from "./descriptions.ts";
export { McpError, McpErrorCode } from "./errors.ts";
export { jsonSchema } from "./json-schema.ts";
export { type Meta, MetaKey } from "./meta-keys.ts";
export type {
  CompletionResult,
  DiscoverResult,
  InitializeResult,
  InputRequiredResult,
  PromptMessage,
  PromptResult,
  ReadResult,
  ToolResult,
} from "./results.ts";
export { type LegacyRevision, type ModernRevision, type Revision, revisions } from "./revisions.ts";
export type { LegacyTask, Task, TaskResult, TaskStatus } from "./task.ts";
