import type { JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { Icon } from "./capabilities.ts";
import type { Annotations } from "./content.ts";
import type { Meta } from "./meta-keys.ts";

/** Members that whatever is listed has. */
interface Described {
  readonly name: string;
  /** For people. */
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
  readonly _meta?: Meta;
}

/** Hints on what a tool does; a client must not rely on those of a server that it does not trust. */
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
