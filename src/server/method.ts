import type { ParameterNames } from "../openrpc/parameter-names.ts";
import { checkTimeout } from "../protocol/clock.ts";
import type { Context } from "../protocol/context.ts";
import type {
  Callable,
  CallTypes,
  callTypes,
  ErrorDefinitions,
  MethodDefinition,
  StreamDefinition,
  StreamOf,
  UploadOf,
} from "../protocol/contract.ts";
import type { RpcError } from "../protocol/errors.ts";
import type { MaybePromise } from "../protocol/message.ts";
import type { InputOf, OutputOf, Schema } from "../protocol/standard-schema.ts";

/** Creates the declared errors of a method, ready to throw. */
export type ErrorMakers<E> = {
  readonly [Name in keyof E]: E[Name] extends { readonly code: infer Code extends number }
    ? E[Name] extends { readonly data: infer Data extends Schema }
      ? (data: InputOf<Data>) => RpcError<Code, OutputOf<Data>, Name & string>
      : () => RpcError<Code, undefined, Name & string>
    : never;
};

/** The params of a handler; unknown without a params schema. */
export type HandlerParams<D> = D extends { readonly params: infer S extends Schema }
  ? OutputOf<S>
  : unknown;
type ErrorsOf<D> = D extends { readonly errors: infer E extends ErrorDefinitions }
  ? E
  : Record<never, never>;
export type HandlerResult<D> = D extends { readonly result: infer S extends Schema }
  ? InputOf<S>
  : unknown;
export type HandlerItem<D> = D extends { readonly item: infer S extends Schema }
  ? InputOf<S>
  : unknown;
export type HandlerProgress<D> = D extends { readonly progress: infer S extends Schema }
  ? InputOf<S>
  : unknown;

/** What a handler gets of its call because of the definition. */
export type HandlerUpload<D> = D extends { readonly upload: infer S extends Schema }
  ? {
      /** The items that the caller sends, checked; read them once, in a loop. */
      readonly upload: AsyncIterable<OutputOf<S>>;
    }
  : unknown;

export type MethodHandler<D, Result = HandlerResult<D>, Call = Context<HandlerProgress<D>>> = (
  params: HandlerParams<D>,
  call: Call & HandlerUpload<D>,
  errors: ErrorMakers<ErrorsOf<D>>,
) => MaybePromise<Result>;

export type StreamHandler<D, Item = HandlerItem<D>, Call = Context<HandlerProgress<D>>> = (
  params: HandlerParams<D>,
  call: Call & HandlerUpload<D>,
  errors: ErrorMakers<ErrorsOf<D>>,
) => AsyncIterable<Item> | Iterable<Item>;

/**
 * The handler of a definition with a schema of its result, or of one whose result is inferred. The compiler resolves a
 * conditional type before it checks the handler, so that `"open"` stays itself there and does not become any string.
 */
export type MethodHandlerOf<D, Result, Call = Context<HandlerProgress<D>>> = D extends {
  readonly result: Schema;
}
  ? MethodHandler<D, HandlerResult<D>, Call>
  : MethodHandler<D, Result, Call> & AnswersOnce<Result>;

/** The same for streams. */
export type StreamHandlerOf<D, Item, Call = Context<HandlerProgress<D>>> = D extends {
  readonly item: Schema;
}
  ? StreamHandler<D, HandlerItem<D>, Call>
  : StreamHandler<D, Item, Call>;

/** A method: its definition, and its handler unless it is only a contract. */
export class Method<Types extends CallTypes = CallTypes, Handler = unknown>
  implements Callable<Types>
{
  declare readonly [callTypes]: Types;
  readonly kind: "method" | "stream";
  readonly definition: MethodDefinition & StreamDefinition;
  readonly handler: Handler;
  /** Parameter names, if it was a plain function. */
  readonly parameters: ParameterNames | undefined;
  /** Each returns further members of the call, before its params are checked. */
  readonly sources: readonly ((call: Context) => MaybePromise<object>)[];

  constructor(
    kind: "method" | "stream",
    definition: MethodDefinition & StreamDefinition,
    handler: Handler,
    parameters?: ParameterNames,
    sources: readonly ((call: Context) => MaybePromise<object>)[] = [],
  ) {
    // A missing definition is rejected by the server, which knows the method's name.
    checkTimeout((definition as MethodDefinition | undefined)?.timeoutMs);
    this.kind = kind;
    this.definition = definition;
    this.handler = handler;
    this.parameters = parameters;
    this.sources = sources;
  }
}

type CallParams<D> = D extends { readonly params: infer S extends Schema } ? InputOf<S> : undefined;
type Declared<D, Result> = D extends { readonly result: infer S extends Schema }
  ? OutputOf<S>
  : Result;
type DeclaredItem<D, Item> = D extends { readonly item: infer S extends Schema }
  ? OutputOf<S>
  : Item;

type DeclaredProgress<D> = D extends { readonly progress: infer S extends Schema }
  ? OutputOf<S>
  : unknown;

type DeclaredUpload<D> = D extends { readonly upload: infer S extends Schema }
  ? UploadOf<InputOf<S>>
  : undefined;

/** The types that a caller sees of a method with this definition. */
export interface MethodTypes<D, Result> extends CallTypes {
  readonly params: CallParams<D>;
  readonly result: Declared<D, Result>;
  readonly errors: ErrorsOf<D>;
  readonly progress: DeclaredProgress<D>;
  readonly upload: DeclaredUpload<D>;
}
/** The types that a caller sees of a stream with this definition. */
export interface StreamTypes<D, Item> extends CallTypes {
  readonly params: CallParams<D>;
  readonly result: StreamOf<DeclaredItem<D, Item>>;
  readonly errors: ErrorsOf<D>;
  readonly progress: DeclaredProgress<D>;
  readonly upload: DeclaredUpload<D>;
}

/** Rejects a generator, which would answer with nothing; `any` and `never` are accepted. */
export type AnswersOnce<Result> = [Result] extends [never]
  ? unknown
  : unknown extends Result
    ? unknown
    : [Result] extends [ReadableStream]
      ? unknown
      : [Result] extends [AsyncIterable<unknown> | Generator<unknown, unknown, never>]
        ? "a generator is the handler of a stream: use stream()"
        : unknown;

/** Rejects errors whose code is any number: callers could not distinguish them. */
export type WithLiteralCodes<D> = D extends { readonly errors: infer E }
  ? { readonly errors: { readonly [Name in keyof E]: LiteralCode<E[Name]> } }
  : unknown;
type LiteralCode<E> = E extends { readonly code: infer Code }
  ? number extends Code
    ? {
        readonly code: "define errors that methods share with defineErrors, so that their codes keep their types";
      }
    : unknown
  : unknown;

/**
 * Defines a method by its schemas; without a handler it is a contract for `implement`.
 * @example
 * ```ts
 * import { createServer, method } from "callwire";
 * import { z } from "zod";
 *
 * const add = method(
 *   { params: z.object({ a: z.number(), b: z.number() }), result: z.number() },
 *   ({ a, b }) => a + b,
 * );
 * const server = createServer({ math: { add } });
 * ```
 */
export function method<const D extends MethodDefinition, Result>(
  definition: D & WithLiteralCodes<D>,
  handler: MethodHandlerOf<D, Result>,
): Method<MethodTypes<D, Result>, MethodHandler<D, Result>>;
export function method<const D extends MethodDefinition>(
  definition: D & WithLiteralCodes<D>,
): Method<MethodTypes<D, unknown>, undefined> & { readonly implementation?: MethodHandler<D> };
export function method(definition: MethodDefinition, handler?: unknown): Method {
  return new Method("method", definition, handler);
}

/**
 * Defines a method that answers with many items over time; its handler is an async generator.
 * @example
 * ```ts
 * import { createServer, stream } from "callwire";
 * import { z } from "zod";
 *
 * const count = stream(
 *   { params: z.object({ to: z.number() }), item: z.number() },
 *   async function* ({ to }) {
 *     for (let n = 0; n <= to; n++) yield n;
 *   },
 * );
 * const server = createServer({ count });
 * ```
 */
export function stream<const D extends StreamDefinition, Item>(
  definition: D & WithLiteralCodes<D>,
  handler: StreamHandlerOf<D, Item>,
): Method<StreamTypes<D, Item>, StreamHandler<D, Item>>;
export function stream<const D extends StreamDefinition>(
  definition: D & WithLiteralCodes<D>,
): Method<StreamTypes<D, unknown>, undefined> & { readonly implementation?: StreamHandler<D> };
export function stream(definition: StreamDefinition, handler?: unknown): Method {
  return new Method("stream", definition, handler);
}

/** Methods by name; groups nest. */
export interface Methods {
  readonly [name: string]: Method | Methods | ((...args: never[]) => unknown);
}

/** The handlers that complete a contract; their calls have the members of `Added` too. */
export type HandlersFor<Contract, Added = unknown> = {
  readonly [Name in keyof Contract]: Contract[Name] extends {
    readonly implementation?: infer Handler;
  }
    ? HandlerWith<NonNullable<Handler>, Added>
    : HandlersFor<Contract[Name], Added>;
};

type HandlerWith<Handler, Added> = unknown extends Added
  ? Handler
  : Handler extends (params: infer P, call: infer Call, errors: infer E) => infer Result
    ? (params: P, call: Call & Added, errors: E) => Result
    : never;

/** Makes further members of a call. */
type Source = Method["sources"][number];

/**
 * Completes a contract: every method of it gets its handler, and nothing else is added.
 * @example
 * ```ts
 * import { createServer, implement, method } from "callwire";
 * import { z } from "zod";
 *
 * const contract = {
 *   add: method({ params: z.object({ a: z.number(), b: z.number() }), result: z.number() }),
 * };
 * const server = createServer(implement(contract, { add: ({ a, b }) => a + b }));
 * ```
 */
export function implement<Contract extends Methods>(
  contract: Contract,
  handlers: HandlersFor<Contract>,
): Contract {
  return implementWith(contract, handlers, []);
}

/** The same with what makes further members of the calls. */
export function implementWith<Contract extends Methods>(
  contract: Contract,
  handlers: object,
  sources: readonly Source[],
): Contract {
  return implementGroup(contract, handlers as Record<string, unknown>, sources, "") as Contract;
}

function implementGroup(
  contract: Methods,
  handlers: Record<string, unknown>,
  sources: readonly Source[],
  prefix: string,
): Methods {
  const complete: Record<string, Methods[string]> = {};
  for (const name of Object.keys(handlers)) {
    if (!Object.hasOwn(contract, name))
      throw new TypeError(`${prefix}${name} is not in the contract`);
  }
  for (const [name, entry] of Object.entries(contract)) {
    const handler = Object.hasOwn(handlers, name) ? handlers[name] : undefined;
    if (entry instanceof Method) {
      if (typeof handler !== "function") throw new TypeError(`${prefix}${name} has no handler`);
      const all = [...sources, ...entry.sources];
      complete[name] = new Method(entry.kind, entry.definition, handler, undefined, all);
    } else if (typeof entry === "object") {
      const group = (handler ?? {}) as Record<string, unknown>;
      complete[name] = implementGroup(entry, group, sources, `${prefix}${name}/`);
    } else {
      throw new TypeError(`${prefix}${name} is a function; a contract holds definitions only`);
    }
  }
  return complete;
}
