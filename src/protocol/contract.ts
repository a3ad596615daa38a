import type { ErrorCode, RpcError } from "./errors.ts";
import type { OutputOf, Schema } from "./standard-schema.ts";

/** Under this key a method carries the types by which it is called; no value is ever there. */
export declare const callTypes: unique symbol;

/** What a caller sees of a method. */
export interface CallTypes {
  readonly params: unknown;
  readonly result: unknown;
  readonly errors: unknown;
}

export interface Callable<Types extends CallTypes = CallTypes> {
  readonly [callTypes]: Types;
}

/** A stream, in the types of its caller. */
export interface StreamOf<Item> {
  readonly stream: Item;
}

/** An error that a method declares: a stable code, and what its data looks like. */
export interface ErrorDefinition {
  readonly code: number;
  readonly message?: string;
  readonly data?: Schema;
}

export type ErrorDefinitions = { readonly [name: string]: ErrorDefinition };

type StandardCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The errors of the wire that a call can end with: those that its method declares, and the standard ones. */
export type DeclaredErrors<Errors> =
  | {
      [Name in keyof Errors]: Errors[Name] extends { readonly code: infer Code extends number }
        ? RpcError<
            Code,
            Errors[Name] extends { readonly data: infer Data extends Schema }
              ? OutputOf<Data>
              : undefined
          >
        : never;
    }[keyof Errors]
  | RpcError<StandardCode>;
