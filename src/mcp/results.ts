import type { JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { Icon, Implementation, ServerCapabilities } from "./capabilities.ts";
import type { InputRequest } from "./client-input.ts";
import type { Annotations, ContentBlock, ResourceContents } from "./content.ts";
import type { Meta } from "./meta-keys.ts";

/** Members that every result may have; `resultType` since 2026-07-28. */
export interface Result {
  readonly _meta?: Meta;
  readonly resultType?: string;
}

/** How long a result may be cached, and whether it may be shared between users; since 2026-07-28. */
export interface CacheHints {
  readonly ttlMs?: number;
  readonly cacheScope?: "public" | "private";
}

/** How far a call has progressed. */
export interface Progress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
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

/** Asks the client to answer these requests and to repeat its own. */
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

/** Members of every list entry. */
interface Described {
  readonly name: string;
  /** A name for people. */
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

/** Hints about what a tool does; a client must not rely on the hints of an untrusted server. */
export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

export type TaskSupport = "required" | "optional" | "forbidden";

/** An entry of `tools/list`. */
export interface ToolDescription extends Described {
  readonly inputSchema: JsonSchemaObject;
  readonly outputSchema?: JsonSchemaObject;
  readonly annotations?: ToolAnnotations;
  readonly execution?: { readonly taskSupport?: TaskSupport };
}

/** An entry of `resources/list`. */
export interface ResourceDescription extends Described {
  readonly uri: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly annotations?: Annotations;
}

/** An entry of `resources/templates/list`. */
export interface ResourceTemplateDescription extends Described {
  readonly uriTemplate: string;
  readonly mimeType?: string;
  readonly annotations?: Annotations;
}

export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required?: boolean;
}

/** An entry of `prompts/list`. */
export interface PromptDescription extends Described {
  readonly arguments?: readonly PromptArgument[];
}
