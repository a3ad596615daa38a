import type { CallContext } from "../../protocol/context.ts";
import type { Handle } from "../../protocol/handle.ts";
import { isThenable, type MaybePromise, type Params, type Reply } from "../../protocol/message.ts";
import { isRecord } from "../../protocol/record.ts";
import { traceContextOf } from "../../protocol/trace-context.ts";
import { invalidArguments } from "../errors.ts";
import type { Meta } from "../meta-keys.ts";
import { RoundRequester } from "./client-requester.ts";
import { FeatureCall } from "./feature-call.ts";
import type { Caller, OperationParams } from "./operation.ts";
import type { RequestStates, StateBinding } from "./request-state.ts";

/** What a request runs: a tool, a prompt, or the reading of a resource. */
export interface Target {
  /** The name under which middleware sees it. */
  readonly method: string;
  readonly params: Params | undefined;
  readonly dispatch: Handle;
  /** Turns the reply into a result; may throw. */
  finish(reply: Reply): MaybePromise<object>;
}

/** Runs handlers, and in the modern era passes their questions and the answers through the client. */
export class HandlerRounds {
  readonly #states: RequestStates;

  constructor(states: RequestStates) {
    this.#states = states;
  }

  /** `prepare` gets the call before it runs. */
  run(
    target: Target,
    sent: OperationParams,
    context: CallContext,
    caller: Caller,
    prepare?: (call: FeatureCall) => void,
  ): MaybePromise<object> {
    const call = new FeatureCall(context, target.method, caller, sent._meta as Meta | undefined);
    prepare?.(call);
    const isRetry =
      caller.session === undefined &&
      (sent.requestState !== undefined || sent.inputResponses !== undefined);
    return isRetry
      ? this.#retry(target, sent, context, call)
      : this.#once(target, sent, context, call);
  }

  async #retry(
    target: Target,
    sent: OperationParams,
    context: CallContext,
    call: FeatureCall,
  ): Promise<object> {
    const { inputResponses = {}, requestState } = sent;
    if (!isRecord(inputResponses)) throw invalidArguments('"inputResponses" must be an object');
    const earlier =
      requestState === undefined
        ? {}
        : await this.#states.read(requestState, bindingOf(sent, context));
    call.requester = new RoundRequester(
      { ...earlier, ...inputResponses },
      call.client.capabilities,
    );
    return this.#once(target, sent, context, call);
  }

  #once(
    target: Target,
    sent: OperationParams,
    context: CallContext,
    call: FeatureCall,
  ): MaybePromise<object> {
    const { method, params, dispatch } = target;
    // The method belongs to the same trace as the message.
    const trace = traceContextOf(context.request, context.transport);
    const reply = dispatch({ jsonrpc: "2.0", method, params, id: context.id, ...trace }, call);
    if (!isThenable(reply) && call.requester === undefined) return target.finish(reply as Reply);
    const finish = (settled: Reply | undefined): MaybePromise<object> => {
      const { requester } = call;
      // A missing answer is required whatever the handler did without it.
      return requester instanceof RoundRequester && requester.asked !== undefined
        ? this.#required(requester.asked, requester.answers, sent, context)
        : target.finish(settled as Reply);
    };
    return isThenable(reply) ? reply.then(finish) : finish(reply);
  }

  async #required(
    inputRequests: object,
    answers: Readonly<Record<string, unknown>>,
    sent: OperationParams,
    context: CallContext,
  ): Promise<object> {
    const requestState = await this.#states.write(answers, bindingOf(sent, context));
    return { resultType: "input_required", inputRequests, requestState };
  }
}

function bindingOf(params: OperationParams, context: CallContext): StateBinding {
  return { method: context.method, params, principal: context.principal?.id };
}
