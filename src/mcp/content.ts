import type { Meta } from "./meta-keys.ts";
import type { ResourceDescription } from "./results.ts";

/** Who content is for, and how important it is. */
export interface Annotations {
  readonly audience?: readonly ("user" | "assistant")[];
  readonly priority?: number;
  readonly lastModified?: string;
}

interface Annotated {
  readonly annotations?: Annotations;
  readonly _meta?: Meta;
}

export interface TextContent extends Annotated {
  readonly type: "text";
  readonly text: string;
}

interface MediaContent extends Annotated {
  /** Base64. */
  readonly data: string;
  readonly mimeType: string;
}

export interface ImageContent extends MediaContent {
  readonly type: "image";
}

export interface AudioContent extends MediaContent {
  readonly type: "audio";
}

/** Contents of a resource: text, or bytes as base64. */
export type ResourceContents = {
  readonly uri: string;
  readonly mimeType?: string;
  readonly _meta?: Meta;
} & (
  | { readonly text: string; readonly blob?: undefined }
  | { readonly blob: string; readonly text?: undefined }
);

export interface EmbeddedResource extends Annotated {
  readonly type: "resource";
  readonly resource: ResourceContents;
}

export interface ResourceLink extends ResourceDescription {
  readonly type: "resource_link";
}

export type ContentBlock =
  | TextContent
  | ImageContent
  | AudioContent
  | EmbeddedResource
  | ResourceLink;

export function text(content: string): TextContent {
  return { type: "text", text: content };
}

/** `data` is base64. */
export function image(data: string, mimeType: string): ImageContent {
  return { type: "image", data, mimeType };
}

/** `data` is base64. */
export function audio(data: string, mimeType: string): AudioContent {
  return { type: "audio", data, mimeType };
}

export function embedded(resource: ResourceContents): EmbeddedResource {
  return { type: "resource", resource };
}
