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

/** Sends requests to the client. */
export interface ClientRequester {
  /** Registers the request before it returns, so that requests made together are sent together. */
  ask<M extends InputMethod>(
    request: InputRequest<M>,
    key: string | undefined,
  ): Promise<InputMethods[M]["result"]>;
}

/** Sends each request at once, as in the legacy era. */
export function directRequester(
  peer: Peer,
  { capabilities }: Caller,
  signal: AbortSignal,
): ClientRequester {
  return {
    async ask(request) {
      const lacking = lackingCapability(request, capabilities);
      if (lacking !== undefined) {
        // The legacy era has no such protocol error, so the model gets it.
        const sentence = `the client did not declare the capability ${capabilityIn(lacking)}`;
        throw new RpcError(McpErrorCode.MissingCapability, sentence);
      }
      const params = request.params as Readonly<Record<string, unknown>>;
      return checkedAnswer(request, await peer.call(request.method, params, { signal }));
    },
  };
}

/** Thrown into a handler whose request goes out with the reply; the handler runs again later. */
class InputRequired extends McpError {}

/** Collects requests for `input_required`, and answers those that earlier rounds answered. */
export class RoundRequester implements ClientRequester {
  readonly answers: Readonly<Record<string, unknown>>;
  readonly #capabilities: ClientCapabilities;
  #count = 0;
  /** Requests without an answer. */
  asked: Record<string, InputRequest> | undefined = undefined;

  constructor(answers: Readonly<Record<string, unknown>>, capabilities: ClientCapabilities) {
    this.answers = answers;
    this.#capabilities = capabilities;
  }

  ask<M extends InputMethod>(
    request: InputRequest<M>,
    named: string | undefined,
  ): Promise<InputMethods[M]["result"]> {
    // The handler asks in the same order in each run.
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

/** The capability that the client lacks for a request; undefined if it lacks none. */
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

/** Throws if the answer of the client does not have the required form. */
export function checkedAnswer<M extends InputMethod>(
  { method }: InputRequest<M>,
  answer: unknown,
): InputMethods[M]["result"] {
  if (!isAnswer(method, answer)) {
    throw invalidArguments(`the client sent a malformed answer to ${method}`);
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
