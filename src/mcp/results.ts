import type { Implementation, ServerCapabilities } from "./capabilities.ts";
import type { InputRequest } from "./client-input.ts";
import type { ContentBlock, ResourceContents } from "./content.ts";
import type {
  PromptDescription,
  ResourceDescription,
  ResourceTemplateDescription,
  ToolDescription,
} from "./descriptions.ts";
import type { Meta } from "./meta-keys.ts";

/** Members that every result may have; `resultType` is of 2026-07-28. */
export interface Result {
  readonly _meta?: Meta;
  readonly resultType?: string;
}

/** How long and by whom a result may be kept; of 2026-07-28. */
export interface CacheHints {
  readonly ttlMs?: number;
  readonly cacheScope?: "public" | "private";
}

export interface InitializeResult extends Result {
  readonly protocolVersion: string;
  readonly capabilities: ServerCapabilities;
  readonly serverInfo: Implementation;
  readonly instructions?: string;
}

export interface DiscoverResult extends Result, CacheHints {
  readonly supportedVersions: readonly string[];
  readonly capabilities: ServerCapabilities;
  readonly instructions?: string;
}

export interface ToolResult extends Result {
  readonly content: readonly ContentBlock[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

export interface PromptMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock;
}

export interface PromptResult extends Result {
  readonly description?: string;
  readonly messages: readonly PromptMessage[];
}

export interface ReadResult extends Result, CacheHints {
  readonly contents: readonly ResourceContents[];
}

export interface CompletionResult extends Result {
  readonly completion: {
    readonly values: readonly string[];
    readonly total?: number;
    readonly hasMore?: boolean;
  };
}

/** The client is to answer these and to repeat its request. */
export interface InputRequiredResult extends Result {
  readonly resultType: "input_required";
  readonly inputRequests?: Readonly<Record<string, InputRequest>>;
  readonly requestState?: string;
}

interface Page extends Result, CacheHints {
  readonly nextCursor?: string;
}

export interface ToolsPage extends Page {
  readonly tools: readonly ToolDescription[];
}
export interface ResourcesPage extends Page {
  readonly resources: readonly ResourceDescription[];
}
export interface ResourceTemplatesPage extends Page {
  readonly resourceTemplates: readonly ResourceTemplateDescription[];
}
export interface PromptsPage extends Page {
  readonly prompts: readonly PromptDescription[];
}
