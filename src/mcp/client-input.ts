import type { JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { AudioContent, ContentBlock, ImageContent, TextContent } from "./content.ts";
import type { Meta } from "./meta-keys.ts";
import type { ToolDescription } from "./results.ts";

/** What a server can ask of a client, by the method that asks it. */
export interface InputMethods {
  "elicitation/create": { params: ElicitParams; result: ElicitResult };
  "sampling/createMessage": { params: SampleParams; result: SampleResult };
  "roots/list": { params: { readonly _meta?: Meta }; result: RootsResult };
}

export type InputMethod = keyof InputMethods;

/** One question to a client, as it travels inside `input_required`. */
export interface InputRequest<M extends InputMethod = InputMethod> {
  readonly method: M;
  readonly params: InputMethods[M]["params"];
}

/** Asks the user to fill in a form, or to visit a page. */
export type ElicitParams = ElicitFormParams | ElicitUrlParams;

export interface ElicitFormParams {
  readonly mode?: "form";
  readonly message: string;
  /** A flat object of strings, numbers, booleans and choices. */
  readonly requestedSchema: JsonSchemaObject;
  readonly _meta?: Meta;
}

export interface ElicitUrlParams {
  readonly mode: "url";
  readonly message: string;
  readonly url: string;
  /** Until 2025-11-25. */
  readonly elicitationId?: string;
  readonly _meta?: Meta;
}

export interface ElicitResult {
  readonly action: "accept" | "decline" | "cancel";
  readonly content?: Readonly<Record<string, unknown>>;
  readonly _meta?: Meta;
}

export type SampleContent = TextContent | ImageContent | AudioContent | ContentBlock;

export interface SampleMessage {
  readonly role: "user" | "assistant";
  readonly content: SampleContent | readonly SampleContent[] | object;
}

/** Asks the client's model. */
export interface SampleParams {
  readonly messages: readonly SampleMessage[];
  readonly maxTokens: number;
  readonly systemPrompt?: string;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly includeContext?: "none" | "thisServer" | "allServers";
  readonly modelPreferences?: object;
  readonly metadata?: object;
  readonly tools?: readonly ToolDescription[];
  readonly toolChoice?: { readonly mode?: "auto" | "required" | "none" };
  readonly _meta?: Meta;
}

export interface SampleResult {
  readonly role: "user" | "assistant";
  readonly content: SampleContent | readonly SampleContent[] | object;
  readonly model: string;
  readonly stopReason?: string;
  readonly _meta?: Meta;
}

export interface Root {
  readonly uri: string;
  readonly name?: string;
  readonly _meta?: Meta;
}

export interface RootsResult {
  readonly roots: readonly Root[];
  readonly _meta?: Meta;
}
