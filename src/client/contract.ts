import type {
  Callable,
  CallTypes,
  callTypes,
  DeclaredErrors,
  StreamOf,
} from "../protocol/contract.ts";
import type { WireError } from "../protocol/errors.ts";

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
type Arguments<Params> = [Params] extends [undefined]
  ? []
  : Params extends readonly unknown[]
    ? Params
    : Record<never, never> extends Params
      ? [params?: Params]
      : [params: Params];

/** The full names of all methods, joined with "/". */
export type MethodName<Methods, Prefix extends string = ""> = {
  [Name in keyof Methods & string]: Methods[Name] extends Callable | ((...args: never[]) => unknown)
    ? `${Prefix}${Name}`
    : Methods[Name] extends object
      ? MethodName<Methods[Name], `${Prefix}${Name}/`>
      : never;
}[keyof Methods & string];

/** A name that the contract does not have; one that it has is called as the contract says. */
export type Unlisted<Methods, Name extends string> =
  Name extends MethodName<Methods> ? never : Name;

/** The method of this full name. */
export type MethodAt<Methods, Name extends string> = Name extends keyof Methods
  ? Methods[Name]
  : Name extends `${infer Group}/${infer Rest}`
    ? Group extends keyof Methods
      ? MethodAt<Methods[Group], Rest>
      : never
    : never;

/** Params by name, or by position for those who prefer it. */
export type ParamsFor<Entry> =
  Entry extends Callable<infer Types>
    ? Types["params"] | readonly unknown[]
    : Entry extends (...args: infer Args) => unknown
      ? Readonly<Args> | object
      : never;

export type ResultOf<Entry> =
  Entry extends Callable<infer Types>
    ? Types["result"]
    : Entry extends (...args: never[]) => infer Result
      ? Awaited<Result>
      : never;

export type ErrorsOf<Entry> = Entry extends { readonly [callTypes]: infer Types extends CallTypes }
  ? Types["errors"]
  : Record<never, never>;

export type ItemOf<Entry> =
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

/** Waits for a call and gives its value or its error, narrowed by `error.code`. Other errors are thrown. */
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
