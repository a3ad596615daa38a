import type { Context } from "../protocol/context.ts";
import type { MethodDefinition, StreamDefinition } from "../protocol/contract.ts";
import type { MaybePromise } from "../protocol/message.ts";
import {
  type HandlerItem,
  type HandlerProgress,
  type HandlerResult,
  type HandlersFor,
  implementWith,
  Method,
  type MethodHandler,
  type MethodHandlerOf,
  type Methods,
  type MethodTypes,
  type StreamHandler,
  type StreamHandlerOf,
  type StreamTypes,
  type WithLiteralCodes,
} from "./method.ts";

/** Makes what handlers get as further members of their call; may throw an `RpcError` to refuse the call. */
export type ContextSource<Call, Added> = (call: Call) => MaybePromise<Added>;

/** Defines methods whose handlers get more of their call. */
export interface ContextMethods<Added extends object> {
  /** As `method`, with what was added to the call. */
  method<const D extends MethodDefinition, Result>(
    definition: D & WithLiteralCodes<D>,
    handler: MethodHandlerOf<D, Result, Context<HandlerProgress<D>> & Added>,
  ): Method<MethodTypes<D, Result>, MethodHandler<D, Result, Context<HandlerProgress<D>> & Added>>;
  method<const D extends MethodDefinition>(
    definition: D & WithLiteralCodes<D>,
  ): Method<MethodTypes<D, unknown>, undefined> & {
    readonly implementation?: MethodHandler<
      D,
      HandlerResult<D>,
      Context<HandlerProgress<D>> & Added
    >;
  };
  /** As `stream`, with what was added to the call. */
  stream<const D extends StreamDefinition, Item>(
    definition: D & WithLiteralCodes<D>,
    handler: StreamHandlerOf<D, Item, Context<HandlerProgress<D>> & Added>,
  ): Method<StreamTypes<D, Item>, StreamHandler<D, Item, Context<HandlerProgress<D>> & Added>>;
  stream<const D extends StreamDefinition>(
    definition: D & WithLiteralCodes<D>,
  ): Method<StreamTypes<D, unknown>, undefined> & {
    readonly implementation?: StreamHandler<D, HandlerItem<D>, Context<HandlerProgress<D>> & Added>;
  };
  /** As `implement`: all methods of the contract, or of a group of it, get what was added to the call. */
  implement<Contract extends Methods>(
    contract: Contract,
    handlers: HandlersFor<Contract, Added>,
  ): Contract;
  /** Adds more, made from what there is. */
  use<More extends object>(add: ContextSource<Context & Added, More>): ContextMethods<Added & More>;
}

/**
 * Methods that share a typed context: the function runs before their params are checked, and what it returns are further
 * members of their call. If it throws an `RpcError`, the caller gets that and the handler does not run.
 * @example
 * ```ts
 * import { createServer, RpcError, withContext } from "callwire";
 *
 * const users = new Map([["ann", { name: "Ann" }]]);
 * const member = withContext((call) => {
 *   const user = users.get(call.principal?.id ?? "");
 *   if (user === undefined) throw new RpcError(1403, "Members only");
 *   return { user };
 * });
 * const server = createServer({ hello: member.method({}, (_, call) => `Hello, ${call.user.name}`) });
 * ```
 */
export function withContext<Added extends object>(
  add: ContextSource<Context, Added>,
): ContextMethods<Added> {
  return contextMethods([add as ContextSource<Context, object>]);
}

function contextMethods<Added extends object>(
  sources: readonly ContextSource<Context, object>[],
): ContextMethods<Added> {
  const define =
    (kind: "method" | "stream") =>
    (definition: MethodDefinition & StreamDefinition, handler?: unknown): Method =>
      new Method(kind, definition, handler, undefined, sources);
  return {
    method: define("method"),
    stream: define("stream"),
    implement: (contract: Methods, handlers: object) => implementWith(contract, handlers, sources),
    use: (add: ContextSource<never, object>) =>
      contextMethods([...sources, add as ContextSource<Context, object>]),
  } as ContextMethods<Added>;
}
