import type { Callable, CallTypes, StreamOf, UploadOf } from "../protocol/contract.ts";
import type { Received, ReceivedMember, Sent, Values } from "../protocol/json-value.ts";
import type { CallOptions, UploadOptions } from "./outgoing-call.ts";

declare const errorTypes: unique symbol;

/** A promise whose type also has the errors that the method declares. */
export type CallResult<Value, Errors, V extends Values = "json"> = Promise<Value> & {
  readonly [errorTypes]?: readonly [Errors, V];
};

/** The items of a stream. To await it is a mistake: its reply comes after the last item. */
export interface StreamResult<Item> extends AsyncIterable<Item> {
  then(read: (mistake: ReadWithoutAwait) => unknown): unknown;
}

/** A stream was awaited: write `for await (const item of api.stream())`. */
interface ReadWithoutAwait {
  readonly mistake: "a stream is not awaited: for await (const item of api.stream())";
}

/** The methods as a caller sees them: the same tree with typed calls. */
export type Api<Methods, V extends Values = "json"> = unknown extends Methods
  ? UntypedApi
  : { readonly [Name in keyof Methods]: ApiEntry<Methods[Name], V> };

/** Methods of unknown types: any name, any arguments, an unknown result. */
export interface UntypedApi {
  readonly [name: string]: UntypedApi &
    ((...args: unknown[]) => Promise<unknown> & AsyncIterable<unknown>);
}

type ApiEntry<Entry, V extends Values> =
  Entry extends Callable<infer Types>
    ? Types["upload"] extends UploadOf<infer Item>
      ? UploadCall<
          Sent<Types["params"], V>,
          CallOptions<ProgressIn<Types, V>> & UploadOptions<Sent<Item, V>>,
          Outcome<Types, V>
        >
      : Call<Sent<Types["params"], V>, CallOptions<ProgressIn<Types, V>>, Outcome<Types, V>>
    : Entry extends (...args: infer Args) => infer Result
      ? PlainCall<Sent<Args, V>, Outcome<PlainTypes<Args, Result>, V>>
      : Entry extends object
        ? Api<Entry, V>
        : never;

/** The types of an entry: what its definition says, or the types of a plain function. */
export type TypesOf<Entry> =
  Entry extends Callable<infer Types>
    ? Types
    : Entry extends (...args: infer Args) => infer Result
      ? PlainTypes<Args, Result>
      : never;

interface PlainTypes<Args, Result> extends CallTypes {
  readonly params: Args;
  readonly result: IsOpen<Result> extends true
    ? Awaited<Result>
    : Result extends ReadableStream
      ? Result
      : Result extends Yielding<infer Item>
        ? StreamOf<Item>
        : Awaited<Result>;
  readonly errors: Record<never, never>;
  /** By name it takes any object. */
  readonly named: object;
}

/** The return type of a plain function that streams. */
type Yielding<Item> = AsyncIterable<Item> | Generator<Item, unknown, never>;

/** `any` and `never` extend every type, so they do not distinguish a stream from a result. */
export type IsOpen<Result> = [Result] extends [never]
  ? true
  : unknown extends Result
    ? true
    : false;

type Outcome<Types extends CallTypes, V extends Values> =
  IsOpen<Types["result"]> extends true
    ? CallResult<Types["result"], Types["errors"], V>
    : Types["result"] extends StreamOf<infer Item>
      ? StreamResult<Received<Item, V>>
      : CallResult<Received<Types["result"], V>, Types["errors"], V>;

export type ProgressIn<Types, V extends Values> = Types extends {
  readonly progress: infer Progress;
}
  ? ReceivedMember<Progress, V>
  : unknown;

/** Calls a method whose params travel by name. Array callbacks pass an index, so options have a form of their own. */
export interface NamedCall<Params, Options, Result> {
  (params: Params, options: Options): Result;
  (params: Params): Result;
}

/** The same, if the params may be omitted. */
export interface OptionalCall<Params, Options, Result> {
  (params: Params | undefined, options: Options): Result;
  (params?: Params): Result;
}

/** The call of a method with an upload, which is one of the options. */
type UploadCall<Params, Options, Result> = [Extract<Params, readonly unknown[]>] extends [never]
  ? MayBeOmitted<Params> extends true
    ? (params: Params | undefined, options: Options) => Result
    : (params: Params, options: Options) => Result
  : (mistake: "use client.call(name, [a, b], { upload })") => never;

/** The call of a defined method. */
type Call<Params, Options, Result> = unknown extends Params
  ? OptionalCall<Params, Options, Result>
  : [Extract<Params, readonly unknown[]>] extends [never]
    ? MayBeOmitted<Params> extends true
      ? OptionalCall<Exclude<Params, undefined>, Options, Result>
      : NamedCall<Params, Options, Result>
    : (...args: Arguments<Params>) => Result;

/** Params may be omitted if the schema accepts none, or if every member is optional. */
export type MayBeOmitted<Params> = unknown extends Params
  ? true
  : undefined extends Params
    ? true
    : (Params extends readonly unknown[] ? [] : Record<never, never>) extends Params
      ? true
      : false;

/** The call of a plain function. */
type PlainCall<Args, Result> = Args extends readonly []
  ? OptionalCall<undefined, CallOptions, Result>
  : Args extends readonly [object]
    ? NamedOrPositional<Args, Result>
    : (...args: Positional<Args>) => Result;

/** Options follow an object that is sent by name, but not one that has a class. */
type NamedOrPositional<Args extends readonly [object], Result> =
  IsPlain<Args[0]> extends true
    ? NamedCall<Args[0], CallOptions, Result>
    : (...args: Args) => Result;

/** The arguments for params that are, or may be, an array. */
type Arguments<Params> = undefined extends Params
  ? [params?: undefined] | Given<Exclude<Params, undefined>>
  : Given<Params>;

type Given<Params> = Params extends readonly unknown[]
  ? Positional<Params>
  : Record<never, never> extends Params
    ? [params?: Params]
    : [params: Params];

type TakenForOptions = "an object here is taken for the options: use client.call(name, [a, b])";

/** Arguments by position, without those that would be mistaken for the options of the call. */
type Positional<Args> = Args extends readonly []
  ? Args
  : Args extends readonly [(infer First)?, (infer Second)?, ...unknown[]]
    ? IsAmbiguous<First, Second> extends true
      ? Args extends readonly [unknown, unknown, ...unknown[]]
        ? readonly TakenForOptions[]
        : Args extends readonly [unknown, ...unknown[]]
          ? [first: First, ...rest: TakenForOptions[]]
          : [first?: First, ...rest: TakenForOptions[]]
      : Args
    : never;

type IsAmbiguous<First, Second> = unknown extends First
  ? false
  : true extends IsPlain<First> | (undefined extends First ? true : false)
    ? true extends IsPlain<Second>
      ? true
      : unknown extends Second
        ? true
        : false
    : false;

/** Whether a value of the type may be a plain object. */
type IsPlain<Value> = Value extends
  | readonly unknown[]
  | ((...args: never[]) => unknown)
  | { toJSON(key?: never): unknown }
  | ReadonlyMap<unknown, unknown>
  | ReadonlySet<unknown>
  | ArrayBuffer
  | ArrayBufferView
  | Blob
  | ReadableStream
  ? false
  : Value extends object
    ? true
    : false;
