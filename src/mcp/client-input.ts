import type { JsonSchemaObject } from "../openrpc/json-schema.ts";
import type { ContentBlock } from "./content.ts";
import type { Meta } from "./meta-keys.ts";
import type { ToolDescription } from "./results.ts";

/** Requests that a server can send to a client. */
export interface InputMethods {
  "elicitation/create": { params: ElicitParams; result: ElicitResult };
  "sampling/createMessage": { params: SampleParams; result: SampleResult };
  "roots/list": { params: { readonly _meta?: Meta }; result: RootsResult };
}

export type InputMethod = keyof InputMethods;

/** One request to a client, as `input_required` carries it. */
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

export interface SampleMessage {
  readonly role: "user" | "assistant";
  readonly content: ContentBlock | readonly ContentBlock[] | object;
}

/** A request to the client's model. */
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

export interface SampleResult extends SampleMessage {
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
