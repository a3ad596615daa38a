import type { JsonSchemaObject } from "../../openrpc/json-schema.ts";
import { readSchemaObject } from "../../openrpc/schema-reading.ts";
import type { MaybePromise } from "../../protocol/message.ts";
import { methodNotFound } from "../../protocol/standard-errors.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type {
  ElicitFormParams,
  ElicitResult,
  ElicitUrlParams,
  InputMethod,
  InputRequest,
  Root,
  SampleParams,
  SampleResult,
} from "../client-input.ts";
import { invalidArguments, McpError } from "../errors.ts";

export interface InputContext {
  /** Aborts when the server no longer waits for the answer. */
  readonly signal: AbortSignal;
}

/** Handlers for requests of the server. The client declares only the capabilities that have a handler. */
export interface InputHandlers {
  /** Lets the user fill in a form. Properties with a default may be missing from the content. */
  readonly elicitForm?: (
    params: ElicitFormParams,
    context: InputContext,
  ) => MaybePromise<ElicitResult>;
  /** Lets the user visit a page, after asking for consent. */
  readonly elicitUrl?: (
    params: ElicitUrlParams,
    context: InputContext,
  ) => MaybePromise<ElicitResult>;
  /** Asks a model. */
  readonly sample?: (params: SampleParams, context: InputContext) => MaybePromise<SampleResult>;
  /** Whether `sample` can let the model use tools. @default false */
  readonly sampleTools?: boolean;
  /** Folders that the server may work in. */
  readonly roots?: readonly Root[] | (() => MaybePromise<readonly Root[]>);
}

/** Answers requests of servers. */
export interface Answering {
  readonly capabilities: ClientCapabilities;
  readonly visitsPages: boolean;
  /** The `tasks` capability that `initialize` declares. */
  readonly taskCapability: object | undefined;
  /** Whether a server of 2025-11-25 may request this as a task. */
  takesTasks(method: InputMethod): boolean;
  answer(request: InputRequest, context: InputContext): Promise<object>;
}

/** Answers requests of servers with the handlers of the user. */
export class Input implements Answering {
  readonly #handlers: InputHandlers;

  constructor(handlers: InputHandlers) {
    this.#handlers = handlers;
  }

  get capabilities(): ClientCapabilities {
    const { elicitForm, elicitUrl, sample, sampleTools, roots } = this.#handlers;
    const elicits = elicitForm !== undefined || elicitUrl !== undefined;
    return {
      ...(elicits && {
        elicitation: {
          ...(elicitForm !== undefined && { form: {} }),
          ...(elicitUrl !== undefined && { url: {} }),
        },
      }),
      ...(sample !== undefined && { sampling: sampleTools === true ? { tools: {} } : {} }),
      ...(roots !== undefined && { roots: {} }),
    };
  }

  get visitsPages(): boolean {
    return this.#handlers.elicitUrl !== undefined;
  }

  takesTasks(method: InputMethod): boolean {
    const { elicitation, sampling } = this.capabilities;
    return (
      (method === "elicitation/create" && elicitation !== undefined) ||
      (method === "sampling/createMessage" && sampling !== undefined)
    );
  }

  get taskCapability(): object | undefined {
    const elicits = this.takesTasks("elicitation/create");
    const samples = this.takesTasks("sampling/createMessage");
    if (!elicits && !samples) return undefined;
    const requests = {
      ...(elicits && { elicitation: { create: {} } }),
      ...(samples && { sampling: { createMessage: {} } }),
    };
    return { list: {}, cancel: {}, requests };
  }

  /** Throws an `McpError` if there is no handler for the request. */
  async answer({ method, params }: InputRequest, context: InputContext): Promise<object> {
    const { sample, roots } = this.#handlers;
    if (typeof params !== "object" && method !== "roots/list") {
      throw invalidArguments("params are missing");
    }
    switch (method) {
      case "elicitation/create":
        return this.#elicit(params as ElicitFormParams | ElicitUrlParams, context);
      case "sampling/createMessage":
        if (sample === undefined) break;
        return sample(params as SampleParams, context);
      case "roots/list":
        if (roots === undefined) break;
        return { roots: typeof roots === "function" ? await roots() : roots };
    }
    throw new McpError(methodNotFound.code, `this client does not support ${method}`);
  }

  async #elicit(
    params: ElicitFormParams | ElicitUrlParams,
    context: InputContext,
  ): Promise<ElicitResult> {
    const { elicitForm, elicitUrl } = this.#handlers;
    if (params.mode === "url") {
      if (elicitUrl === undefined)
        throw invalidArguments("this client does not support elicitation by URL");
      return elicitUrl(params, context);
    }
    if (elicitForm === undefined)
      throw invalidArguments("this client does not support elicitation by form");
    const requestedSchema = readSchemaObject(params.requestedSchema);
    const result = await elicitForm({ ...params, requestedSchema }, context);
    if (result.action !== "accept") return result;
    return { ...result, content: withDefaults(requestedSchema, result.content) };
  }
}

/** Fills in the defaults of the form. */
function withDefaults(
  schema: JsonSchemaObject,
  content: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  const filled: Record<string, unknown> = { ...content };
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (filled[name] !== undefined || typeof property !== "object") continue;
    if (Object.hasOwn(property, "default")) filled[name] = property.default;
  }
  return filled;
}
