import type { MaybePromise } from "../../protocol/message.ts";
import type { Icon } from "../capabilities.ts";
import type { Annotations, ResourceContents } from "../content.ts";
import type { ResourceDescription } from "../descriptions.ts";
import type { Meta } from "../meta-keys.ts";
import type { McpCall } from "./mcp-call.ts";
import { type UriTemplate, uriTemplate } from "./uri-template.ts";
import type { UriVariableName, UriVariables } from "./uri-variables.ts";

/** Suggests values that begin with what was typed. */
export type Complete = (
  typed: string,
  /** What was chosen for the other arguments. */
  chosen: Readonly<Record<string, string>>,
  call: McpCall,
) => MaybePromise<readonly string[]>;

/** What a resource holds: text, bytes, or contents as they travel. */
export type ResourceOutput = string | Uint8Array | readonly ResourceContents[];

interface Described {
  /** Identifies the resource to programs. @default the URI */
  readonly name?: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly icons?: readonly Icon[];
  readonly annotations?: Annotations;
  readonly _meta?: Meta;
}

export interface StaticResource extends Described {
  readonly uri: string;
  readonly size?: number;
  readonly read: (uri: string, call: McpCall) => MaybePromise<ResourceOutput>;
}

export interface TemplateResource<Template extends string = string> extends Described {
  /** RFC 6570, such as `file:///{path}`. */
  readonly uriTemplate: Template;
  readonly complete?: { readonly [Name in UriVariableName<Template>]?: Complete };
  /** Those that are worth listing. */
  readonly list?: (call: McpCall) => MaybePromise<readonly ResourceDescription[]>;
  /** Undefined says that there is no such resource. */
  readonly read: (
    variables: UriVariables<Template>,
    uri: string,
    call: McpCall,
  ) => MaybePromise<ResourceOutput | undefined>;
}

/** Something to read, at one URI or at all that match a template. */
export interface Resource {
  readonly definition: StaticResource | TemplateResource;
  readonly name: string;
  readonly template: UriTemplate | undefined;
}

/**
 * Defines a resource at one URI, or at every URI that matches a template.
 * @example
 * ```ts
 * import { mcpServer, resource } from "callwire/mcp";
 *
 * const notes = new Map([["1", "Buy milk"]]);
 * const note = resource({
 *   uriTemplate: "note://{id}",
 *   mimeType: "text/plain",
 *   read: ({ id }) => notes.get(id),
 * });
 * const agents = mcpServer({}, { name: "notes", version: "1.0.0", resources: [note] });
 * ```
 */
export function resource(definition: StaticResource): Resource;
export function resource<const Template extends string>(
  definition: TemplateResource<Template>,
): Resource;
export function resource(definition: StaticResource | TemplateResource): Resource {
  if ("uri" in definition) {
    return { definition, name: definition.name ?? definition.uri, template: undefined };
  }
  const template = uriTemplate(definition.uriTemplate);
  for (const name of Object.keys(definition.complete ?? {})) {
    if (!template.names.includes(name)) {
      throw new TypeError(`"${definition.uriTemplate}" has no variable ${name} to complete`);
    }
  }
  return { definition, name: definition.name ?? definition.uriTemplate, template };
}
