import type { Callable, CallTypes, StreamOf, UploadOf } from "../protocol/contract.ts";
import type { Received, Sent, Values } from "../protocol/json-value.ts";
import type { Params } from "../protocol/message.ts";
import type { CallResult, IsOpen, MayBeOmitted, ProgressIn, TypesOf } from "./contract.ts";
import type { AnyCallOptions, CallOptions, UploadOptions } from "./outgoing-call.ts";

/** The full names of all methods, joined with "/"; any string for untyped clients. */
export type NameIn<Methods> = unknown extends Methods
  ? string
  : NamesIn<Methods, ""> | "rpc.discover";

type NamesIn<Methods, Prefix extends string> = {
  [Name in keyof Methods & string]: Methods[Name] extends Callable | ((...args: never[]) => unknown)
    ? `${Prefix}${Name}`
    : NamesIn<Methods[Name], `${Prefix}${Name}/`>;
}[keyof Methods & string];

/** The types of the method of this full name; `never` if the contract does not have it. */
type TypesAt<Methods, Name extends string> = unknown extends Methods
  ? never
  : Name extends keyof Methods
    ? TypesOf<Methods[Name]>
    : Name extends `${infer Group}/${infer Rest}`
      ? Group extends keyof Methods
        ? TypesAt<Methods[Group], Rest>
        : never
      : never;

type Kind = "method" | "stream";

/** A name of the contract; any other name becomes all existing ones, which the compiler's message then lists. */
export type Known<Methods, Name extends string> =
  Name extends NameIn<Methods> ? Name : NameIn<Methods>;

/** The same, or a message for the compiler if the method is of the other kind. A caller that gives the type of the result may use any name. */
export type NameOf<Wanted extends Kind, Methods, Name extends string, Given> = [Given] extends [
  never,
]
  ? Wanted extends KindOf<TypesAt<Methods, Name>>
    ? Known<Methods, Name>
    : Wanted extends "method"
      ? `${Name} is a stream: read it with stream()`
      : `${Name} is not a stream: call it with call()`
  : string;

/** Both kinds if the types leave it open. */
type KindOf<Types extends CallTypes> = [Types] extends [never]
  ? Kind
  : IsOpen<Types["result"]> extends true
    ? Kind
    : [Types["result"]] extends [StreamOf<unknown>]
      ? "stream"
      : [Extract<Types["result"], StreamOf<unknown>>] extends [never]
        ? "method"
        : Kind;

/** The arguments after the name: params, if the contract requires them, and options. */
export type CallArguments<Methods, V extends Values, Name extends string> = ArgumentsOf<
  TypesAt<Methods, Name>,
  V
>;

type ArgumentsOf<Types extends CallTypes, V extends Values> = [Types] extends [never]
  ? [params?: Params, options?: AnyCallOptions]
  : Types["upload"] extends UploadOf<infer Item>
    ? [
        params:
          | ParamsFor<Types, V>
          | (MayBeOmitted<Types["params"]> extends true ? undefined : never),
        options: CallOptions<ProgressIn<Types, V>> & UploadOptions<Sent<Item, V>>,
      ]
    : MayBeOmitted<Types["params"]> extends true
      ? [params?: ParamsFor<Types, V>, options?: CallOptions<ProgressIn<Types, V>>]
      : [params: ParamsFor<Types, V>, options?: CallOptions<ProgressIn<Types, V>>];

/** Params by name or by position. */
type ParamsFor<Types extends CallTypes, V extends Values> =
  | Sent<Types["params"], V>
  | readonly unknown[]
  | (Types extends { readonly named: infer Named } ? Named : never);

/** The result of a call; for names outside of the contract, the type that the caller gives. */
export type CallOf<Methods, V extends Values, Name extends string, Given> = [Given] extends [never]
  ? ResultOf<TypesAt<Methods, Name>, V>
  : Promise<Given>;

type ResultOf<Types extends CallTypes, V extends Values> = [Types] extends [never]
  ? Promise<unknown>
  : CallResult<Received<Types["result"], V>, Types["errors"], V>;

/** The items of a stream; for names outside of the contract, the type that the reader gives. */
export type ItemOf<Methods, V extends Values, Name extends string, Given> = [Given] extends [never]
  ? ItemIn<TypesAt<Methods, Name>, V>
  : Given;

type ItemIn<Types extends CallTypes, V extends Values> = [Types] extends [never]
  ? unknown
  : IsOpen<Types["result"]> extends true
    ? unknown
    : Types["result"] extends StreamOf<infer Item>
      ? Received<Item, V>
      : never;
