import type { MaybePromise } from "../../protocol/message.ts";
import type { ResourceContents } from "../content.ts";
import type { ResourceDescription } from "../results.ts";
import type { McpCall } from "./mcp-call.ts";
import {
  type UriTemplate,
  type UriVariableName,
  type UriVariables,
  uriTemplate,
} from "./uri-template.ts";

/** Suggests values for what the user has typed so far. */
export type Complete = (
  typed: string,
  /** Values of the other arguments that are already chosen. */
  chosen: Readonly<Record<string, string>>,
  call: McpCall,
) => MaybePromise<readonly string[]>;

/** What a resource returns: text, bytes, or contents in the form of MCP. */
export type ResourceOutput = string | Uint8Array | readonly ResourceContents[];

/** `name` defaults to the URI. */
type Described = Partial<Omit<ResourceDescription, "uri" | "size">>;

export interface StaticResource extends Described {
  readonly uri: string;
  readonly size?: number;
  readonly read: (uri: string, call: McpCall) => MaybePromise<ResourceOutput>;
}

export interface TemplateResource<Template extends string = string> extends Described {
  /** RFC 6570, such as `file:///{path}`. */
  readonly uriTemplate: Template;
  readonly complete?: { readonly [Name in UriVariableName<Template>]?: Complete };
  /** The resources to include in `resources/list`. @default none */
  readonly list?: (call: McpCall) => MaybePromise<readonly ResourceDescription[]>;
  /** Returns undefined if there is no such resource. */
  readonly read: (
    variables: UriVariables<Template>,
    uri: string,
    call: McpCall,
  ) => MaybePromise<ResourceOutput | undefined>;
}

/** Something to read, at one URI or at every URI that matches a template. */
export interface Resource {
  readonly definition: StaticResource | TemplateResource;
  readonly name: string;
  readonly template: UriTemplate | undefined;
  /** The name under which middleware sees it. @default `resources/` and its name */
  readonly method?: string;
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
