/** How values travel: as JSON has them, or with the types that JSON lacks. */
export type Values = "json" | "rich";

declare const reason: unique symbol;

/** Takes the place of a type that cannot travel, so that the compiler's message says why. */
export interface Unsendable<Why extends string> {
  readonly [reason]: Why;
}

type NeedsRich<Value> = Unsendable<`${Kind<Value>} needs values: "rich"`>;

type Kind<Value> = Value extends bigint
  ? "a bigint"
  : Value extends Date
    ? "a Date"
    : Value extends ReadonlyMap<unknown, unknown>
      ? "a Map"
      : Value extends ReadonlySet<unknown>
        ? "a Set"
        : Value extends Bytes
          ? "binary data"
          : "an object with toJSON()";

type Scalar = string | number | boolean | null;
type Omitted = undefined | symbol | ((...args: never[]) => unknown);
type Keyed = ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>;
type Bytes = ArrayBuffer | ArrayBufferView | Blob | ReadableStream;

/** What JSON keeps as it is. Most types extend it (interfaces do not), and the compiler compares faster than it converts. */
type Json = Scalar | readonly Json[] | { readonly [name: string]: Json };

/** The same in params, where a missing member and an undefined one are equal. */
type JsonParams =
  | Scalar
  | undefined
  | readonly JsonParams[]
  | { readonly [name: string]: JsonParams };

/** A result or an item as its receiver gets it. Types that JSON keeps are not touched, so that they keep their names. */
export type Received<Value, V extends Values> = V extends "rich"
  ? Value
  : [Value] extends [Json]
    ? Value
    : ReceivedElement<Value>;

type ReceivedElement<Value> = [Element<Value>] extends [Value] ? Value : Element<Value>;

/** The same for a value that may be missing, such as the data of an error. */
export type ReceivedMember<Value, V extends Values> = V extends "rich"
  ? Value
  : [Parsed<Value>] extends [Value]
    ? Value
    : Parsed<Value>;

/** In arrays, `JSON.stringify` writes null for a value that it leaves out elsewhere. */
type Element<Value> = unknown extends Value ? Value : Value extends Omitted ? null : Parsed<Value>;

/** What `JSON.parse` makes of what `JSON.stringify` writes. */
type Parsed<Value> = unknown extends Value
  ? Value
  : Value extends Scalar | undefined
    ? Value
    : Value extends bigint
      ? NeedsRich<Value>
      : Value extends { toJSON(key?: never): infer Json }
        ? Parsed<Json>
        : Value extends Keyed | Bytes
          ? Record<never, never>
          : Value extends readonly unknown[]
            ? { [Index in keyof Value]: Element<Value[Index]> }
            : Value extends object
              ? ParsedObject<Value>
              : Value;

type ParsedObject<Value> = Flat<
  {
    [Key in keyof Value as IsOmitted<Value[Key]> extends false ? Key : never]: Parsed<Value[Key]>;
  } & {
    [Key in keyof Value as IsOmitted<Value[Key]> extends true
      ? never
      : boolean extends IsOmitted<Value[Key]>
        ? Key
        : never]?: Parsed<Exclude<Value[Key], Omitted>>;
  }
>;

type Flat<Value> = { [Key in keyof Value]: Value[Key] };

/** Whether a member is left out: always, never, or both for a union. */
type IsOmitted<Value> = unknown extends Value ? false : Value extends Omitted ? true : false;

/** Params as a caller may give them: what JSON cannot carry to the method is replaced by a reason. */
export type Sent<Value, V extends Values> = V extends "rich"
  ? Value
  : [Value] extends [JsonParams]
    ? Value
    : SendableOnly<Value>;

type SendableOnly<Value> = [Value] extends [Sendable<Value>] ? Value : Sendable<Value>;

type Sendable<Value> = unknown extends Value
  ? Value
  : Value extends Scalar | undefined
    ? Value
    : Value extends bigint | { toJSON(key?: never): unknown } | Keyed | Bytes
      ? NeedsRich<Value>
      : Value extends symbol | ((...args: never[]) => unknown)
        ? Unsendable<"a function or a symbol cannot be sent">
        : { [Key in keyof Value]: Sendable<Value[Key]> };
