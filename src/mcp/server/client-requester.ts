import { RpcError } from "../../protocol/errors.ts";
import type { Peer } from "../../protocol/origin.ts";
import type { ClientCapabilities } from "../capabilities.ts";
import type { InputMethod, InputMethods, InputRequest } from "../client-input.ts";
import {
  capabilityIn,
  invalidArguments,
  McpError,
  McpErrorCode,
  missingCapability,
} from "../errors.ts";
import type { Caller } from "./operation.ts";

/** A way to ask the client something. */
export interface ClientRequester {
  /** Begins to ask before it returns, so that questions asked together travel together. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    key: string | undefined,
  ): Promise<InputMethods[M]["result"]>;
}

/** Sends each question at once, as the legacy era has it. */
export class DirectRequester implements ClientRequester {
  readonly #peer: Peer;
  readonly #caller: Caller;
  readonly #signal: AbortSignal;

  constructor(peer: Peer, caller: Caller, signal: AbortSignal) {
    this.#peer = peer;
    this.#caller = caller;
    this.#signal = signal;
  }

  async ask<M extends InputMethod>(request: InputRequest<M>): Promise<InputMethods[M]["result"]> {
    const lacking = lackingCapability(request, this.#caller.capabilities);
    if (lacking !== undefined) {
      // Until 2025-11-25 the protocol has no such error, so that it is for the model to read.
      const sentence = `the client cannot be asked for ${capabilityIn(lacking)}`;
      throw new RpcError(McpErrorCode.MissingCapability, sentence);
    }
    const params = request.params as Readonly<Record<string, unknown>>;
    const options = { signal: this.#signal };
    return checkedAnswer(request, await this.#peer.call(request.method, params, options));
  }
}

/** Thrown into a handler whose question travels with the reply; the handler runs again later. */
class InputRequired extends McpError {}

/** Gathers questions for `input_required`, and knows the answers that came before. */
export class RoundRequester implements ClientRequester {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly #capabilities: ClientCapabilities;
  #count = 0;
  /** Questions without an answer. */
  asked: Record<string, InputRequest> | undefined = undefined;

  constructor(answers: Readonly<Record<string, unknown>>, capabilities: ClientCapabilities) {
    this.answers = answers;
    this.#capabilities = capabilities;
  }

  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    // The handler asks in the same order each time it runs.
    const key = named ?? `input-${++this.#count}`;
    if (Object.hasOwn(this.answers, key)) {
      try {
        return Promise.resolve(checkedAnswer(request, this.answers[key]));
      } catch (error) {
        return Promise.reject(error);
      }
    }
    const lacking = lackingCapability(request, this.#capabilities);
    if (lacking !== undefined) return Promise.reject(missingCapability(lacking));
    this.asked ??= {};
    this.asked[key] = request;
    return Promise.reject(new InputRequired(-32603, "the handler waits for an answer"));
  }
}

/** What a client would have to declare to be asked this; undefined where it did. */
export function lackingCapability(
  { method, params }: InputRequest,
  capabilities: ClientCapabilities,
): ClientCapabilities | undefined {
  switch (method) {
    case "roots/list":
      return capabilities.roots === undefined ? { roots: {} } : undefined;
    case "sampling/createMessage": {
      const usesTools = "tools" in params && params.tools !== undefined;
      if (capabilities.sampling === undefined) return { sampling: usesTools ? { tools: {} } : {} };
      return usesTools && capabilities.sampling.tools === undefined
        ? { sampling: { tools: {} } }
        : undefined;
    }
    case "elicitation/create": {
      const { elicitation } = capabilities;
      if ("mode" in params && params.mode === "url") {
        return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      }
      if (elicitation === undefined) return { elicitation: { form: {} } };
      const takesForms = elicitation.form !== undefined || elicitation.url === undefined;
      return takesForms ? undefined : { elicitation: { form: {} } };
    }
  }
}

/** Clients answer with anything; a handler gets only what has the form of an answer. */
export function checkedAnswer<M extends InputMethod>(
  { method }: InputRequest<M>,
  answer: unknown,
): InputMethods[M]["result"] {
  if (!isAnswer(method, answer)) {
    throw invalidArguments(`what the client answered to ${method} is no answer to it`);
  }
  return answer as InputMethods[M]["result"];
}

function isAnswer(method: InputMethod, answer: unknown): boolean {
  if (typeof answer !== "object" || answer === null) return false;
  const { action, content, role, model, roots } = answer as Record<string, unknown>;
  switch (method) {
    case "elicitation/create":
      return (
        action === "decline" ||
        action === "cancel" ||
        (action === "accept" && (content === undefined || typeof content === "object"))
      );
    case "sampling/createMessage":
      return (
        (role === "user" || role === "assistant") &&
        typeof content === "object" &&
        typeof model === "string"
      );
    case "roots/list":
      return Array.isArray(roots);
  }
}
