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

/**
 * Makes a text block for the content of a tool result.
 * @example
 * ```ts
 * import { text, tool } from "callwire/mcp";
 *
 * const today = tool({ description: "Today's date" }, () => [text(new Date().toDateString())]);
 * ```
 */
export function text(content: string): TextContent {
  return { type: "text", text: content };
}

/**
 * Makes an image block for the content of a tool result; `data` is base64.
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { image, tool } from "callwire/mcp";
 *
 * const logo = tool({ description: "The logo" }, async () => [
 *   image(await readFile("logo.png", "base64"), "image/png"),
 * ]);
 * ```
 */
export function image(data: string, mimeType: string): ImageContent {
  return { type: "image", data, mimeType };
}

/**
 * Makes an audio block for the content of a tool result; `data` is base64.
 * @example
 * ```ts
 * import { readFile } from "node:fs/promises";
 * import { audio, tool } from "callwire/mcp";
 *
 * const chime = tool({ description: "A short chime" }, async () => [
 *   audio(await readFile("chime.wav", "base64"), "audio/wav"),
 * ]);
 * ```
 */
export function audio(data: string, mimeType: string): AudioContent {
  return { type: "audio", data, mimeType };
}

/**
 * Makes a block that holds a whole resource, for the content of a tool result.
 * @example
 * ```ts
 * import { embedded, tool } from "callwire/mcp";
 *
 * const terms = tool({ description: "The terms of use" }, () => [
 *   embedded({ uri: "doc://terms", mimeType: "text/plain", text: "Be kind." }),
 * ]);
 * ```
 */
export function embedded(resource: ResourceContents): EmbeddedResource {
  return { type: "resource", resource };
}
