import type {
  Callable,
  CallTypes,
  callTypes,
  DeclaredErrors,
  StreamOf,
} from "../protocol/contract.ts";
import type { WireError } from "../protocol/errors.ts";
import type { Params } from "../protocol/message.ts";

declare const errorTypes: unique symbol;

/** A promise whose type also has the errors that the method declares. */
export type CallResult<Value, Errors> = Promise<Value> & {
  readonly [errorTypes]?: Errors;
};

/** The methods as a caller sees them: the same tree with typed calls. */
export type Api<Methods> = unknown extends Methods
  ? UntypedApi
  : { readonly [Name in keyof Methods]: ApiEntry<Methods[Name]> };

/** Methods of unknown types: any name, any arguments, an unknown result. */
export interface UntypedApi {
  readonly [name: string]: UntypedApi &
    ((...args: unknown[]) => Promise<unknown> & AsyncIterable<unknown>);
}

type ApiEntry<Entry> =
  Entry extends Callable<infer Types>
    ? (...args: Arguments<Types["params"]>) => Outcome<Types>
    : Entry extends (...args: infer Args) => infer Result
      ? (...args: Args) => PlainOutcome<Result>
      : Entry extends object
        ? Api<Entry>
        : never;

type Outcome<Types extends CallTypes> =
  IsOpen<Types["result"]> extends true
    ? CallResult<Types["result"], Types["errors"]>
    : Types["result"] extends StreamOf<infer Item>
      ? AsyncIterable<Item>
      : CallResult<Types["result"], Types["errors"]>;

type PlainOutcome<Result> =
  IsOpen<Result> extends true
    ? CallResult<Awaited<Result>, Record<never, never>>
    : Result extends Yielding<infer Item>
      ? AsyncIterable<Item>
      : CallResult<Awaited<Result>, Record<never, never>>;

/** The return type of a plain function that streams. */
type Yielding<Item> = AsyncIterable<Item> | Generator<Item, unknown, never>;

/** `any` and `never` extend every type, so they do not tell a stream from a result. */
type IsOpen<Result> = [Result] extends [never] ? true : unknown extends Result ? true : false;

/** The arguments of a call; params may be omitted if every member is optional. */
type Arguments<Params> = unknown extends Params
  ? [params?: Params]
  : [Params] extends [undefined]
    ? []
    : undefined extends Params
      ? [params?: undefined] | Given<Exclude<Params, undefined>>
      : Given<Params>;

type Given<Params> = Params extends readonly unknown[]
  ? Params
  : Record<never, never> extends Params
    ? [params?: Params]
    : [params: Params];

/** The full names of all methods, joined with "/"; none for untyped clients. */
type MethodName<Methods, Prefix extends string = ""> = unknown extends Methods
  ? never
  : NamesIn<Methods, Prefix>;

type NamesIn<Methods, Prefix extends string> = {
  [Name in keyof Methods & string]: Methods[Name] extends Callable | ((...args: never[]) => unknown)
    ? `${Prefix}${Name}`
    : Methods[Name] extends object
      ? MethodName<Methods[Name], `${Prefix}${Name}/`>
      : never;
}[keyof Methods & string];

/** A string type that does not absorb literal names, so that editors suggest them. */
type Other = string & Record<never, never>;

/** The names of the contract, and any other string. */
export type AnyName<Methods> = MethodName<Methods> | Other;

/** A name of the contract; `never` if it could be any string, as with an explicit result type. */
type Known<Methods, Name extends string> = [Other] extends [Name]
  ? never
  : Name & MethodName<Methods>;

type Kind = "method" | "stream";

/** The name, or a message for the compiler if the method is of the other kind. */
export type NameOf<
  Wanted extends Kind,
  Methods,
  Name extends string,
  Listed = Known<Methods, Name>,
> = Name extends Listed
  ? Wanted extends KindOf<MethodAt<Methods, Name>>
    ? Name
    : Wanted extends "method"
      ? `${Name} is a stream: read it with stream()`
      : `${Name} is not a stream: call it with call()`
  : Name;

/** Both kinds if the types do not tell. */
type KindOf<Entry> =
  Entry extends Callable<infer Types>
    ? KindOfResult<Types["result"], StreamOf<unknown>>
    : Entry extends (...args: never[]) => infer Result
      ? KindOfResult<Result, Yielding<unknown>>
      : never;

type KindOfResult<Result, Stream> =
  IsOpen<Result> extends true
    ? Kind
    : [Result] extends [Stream]
      ? "stream"
      : [Extract<Result, Stream>] extends [never]
        ? "method"
        : Kind;

/** The method of this full name. */
type MethodAt<Methods, Name extends string> = Name extends keyof Methods
  ? Methods[Name]
  : Name extends `${infer Group}/${infer Rest}`
    ? Group extends keyof Methods
      ? MethodAt<Methods[Group], Rest>
      : never
    : never;

/** The arguments after the name: params, if the contract requires them, and options. */
export type CallArguments<
  Methods,
  Name extends string,
  Options,
  Listed = Known<Methods, Name>,
> = Name extends Listed
  ? IsOptional<MethodAt<Methods, Name>> extends true
    ? [params?: ParamsFor<MethodAt<Methods, Name>>, options?: Options]
    : [params: ParamsFor<MethodAt<Methods, Name>>, options?: Options]
  : [params?: Params, options?: Options];

type IsOptional<Entry> =
  Entry extends Callable<infer Types>
    ? [] extends Arguments<Types["params"]>
      ? true
      : false
    : Entry extends (...args: infer Args) => unknown
      ? [] extends Args
        ? true
        : false
      : false;

/** Params by name or by position. */
type ParamsFor<Entry> =
  Entry extends Callable<infer Types>
    ? Types["params"] | readonly unknown[]
    : Entry extends (...args: infer Args) => unknown
      ? Readonly<Args> | object
      : never;

/** The result of a call; for names outside of the contract, the type that the caller gives. */
export type CallOf<
  Methods,
  Name extends string,
  Else,
  Listed = Known<Methods, Name>,
> = Name extends Listed
  ? CallResult<ResultOf<MethodAt<Methods, Name>>, ErrorsOf<MethodAt<Methods, Name>>>
  : Promise<Else>;

type ResultOf<Entry> =
  Entry extends Callable<infer Types>
    ? Types["result"]
    : Entry extends (...args: never[]) => infer Result
      ? Awaited<Result>
      : never;

type ErrorsOf<Entry> = Entry extends { readonly [callTypes]: infer Types extends CallTypes }
  ? Types["errors"]
  : Record<never, never>;

/** The items of a stream; for names outside of the contract, the type that the reader gives. */
export type ItemOf<
  Methods,
  Name extends string,
  Else,
  Listed = Known<Methods, Name>,
> = Name extends Listed ? ItemAt<MethodAt<Methods, Name>> : Else;

type ItemAt<Entry> =
  Entry extends Callable<infer Types>
    ? Types["result"] extends StreamOf<infer Item>
      ? Item
      : never
    : Entry extends (...args: never[]) => Yielding<infer Item>
      ? Item
      : never;

/** The outcome of a call, as a value. */
export type Settled<Value, Errors> =
  | { readonly ok: true; readonly value: Value; readonly error?: undefined }
  | {
      readonly ok: false;
      readonly value?: undefined;
      readonly error: DeclaredErrors<Errors> | WireError;
    };

/**
 * Resolves with the value or the error of a call, narrowed by `error.code`. Other errors are thrown.
 * @example
 * ```ts
 * import { safe } from "callwire";
 *
 * const sum = await safe(api.math.add({ a: 2, b: 3 }));
 * if (sum.ok) console.log(sum.value);
 * else console.log(sum.error.code, sum.error.message);
 * ```
 */
export async function safe<Value, Errors>(
  call: CallResult<Value, Errors>,
): Promise<Settled<Value, Errors>> {
  try {
    return { ok: true, value: await call };
  } catch (error) {
    if (isOfWire(error)) return { ok: false, error: error as DeclaredErrors<Errors> };
    throw error;
  }
}

function isOfWire(error: unknown): boolean {
  return error instanceof Error && (error.name === "RpcError" || error.name === "WireError");
}
