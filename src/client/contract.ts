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

/** A promise that also knows, in its types, the errors that its method declares. */
export type CallResult<Value, Errors> = Promise<Value> & {
  readonly [errorTypes]?: Errors;
};

/** What a caller can reach of some methods: the same tree, each method called with its own types. */
export type Api<Methods> = unknown extends Methods
  ? UntypedApi
  : { readonly [Name in keyof Methods]: ApiEntry<Methods[Name]> };

/** Methods whose types nobody told: any name, any arguments, and a result to be checked. */
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

/** What a plain function gives that streams. */
type Yielding<Item> = AsyncIterable<Item> | Generator<Item, unknown, never>;

/** `any` and `never` extend everything, a stream too, and say nothing about it. */
type IsOpen<Result> = [Result] extends [never] ? true : unknown extends Result ? true : false;

/** A method without params takes none; params that may all be left out may be left out together. */
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

/** The full names of all methods, joined with "/"; none where nobody told what there is. */
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

/** A string that takes no names of the contract into itself, so that editors list these. */
type Other = string & Record<never, never>;

/** What may stand for a name: those of the contract, and any other. */
export type AnyName<Methods> = MethodName<Methods> | Other;

/** A name that the contract has; never where it could be any, as where its caller says what comes back. */
type Known<Methods, Name extends string> = [Other] extends [Name]
  ? never
  : Name & MethodName<Methods>;

type Kind = "method" | "stream";

/** A name, unless the contract has it as something else, which it then says. */
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
      : `${Name} is no stream: call it with call()`
  : Name;

/** Both where the types do not tell. */
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

/** What follows a name: its params, which may be left out where the contract lets them, and options. */
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

/** Params by name, or by position for those who prefer it. */
type ParamsFor<Entry> =
  Entry extends Callable<infer Types>
    ? Types["params"] | readonly unknown[]
    : Entry extends (...args: infer Args) => unknown
      ? Readonly<Args> | object
      : never;

/** What a call of this name gives; of a name that the contract does not have, what its caller says. */
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

/** The items of a stream of this name; of a name that the contract does not have, what its reader says. */
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

/** How a call ended, without throwing. */
export type Settled<Value, Errors> =
  | { readonly ok: true; readonly value: Value; readonly error?: undefined }
  | {
      readonly ok: false;
      readonly value?: undefined;
      readonly error: DeclaredErrors<Errors> | WireError;
    };

/**
 * Waits for a call and gives its value or its error, narrowed by `error.code`. Other errors are thrown.
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
