import type { AccessRule } from "./access.ts";
import type { ErrorCode, RpcError } from "./errors.ts";
import type { ReceivedMember, Values } from "./json-value.ts";
import type { OutputOf, Schema } from "./standard-schema.ts";

/** Key of the types by which a method is called; no value is ever stored under it. */
export declare const callTypes: unique symbol;

/** The types that a caller sees of a method. */
export interface CallTypes {
  readonly params: unknown;
  readonly result: unknown;
  readonly errors: unknown;
  readonly progress?: unknown;
  /** An `UploadOf` if the caller sends items. */
  readonly upload?: unknown;
}

export interface Callable<Types extends CallTypes = CallTypes> {
  readonly [callTypes]: Types;
}

declare const streamed: unique symbol;

/** Marks a stream in the caller's types. Not by a name, because results have members of any name: a Blob has `stream`. */
export interface StreamOf<Item> {
  readonly [streamed]: Item;
}

/** Marks, in the caller's types, the items that the caller sends. */
export interface UploadOf<Item> {
  readonly items: Item;
}

/** An error that a method declares: a stable code, and a schema of its data. */
export interface ErrorDefinition {
  /** An integer that callers recognise the error by. JSON-RPC reserves -32768 to -32000. */
  readonly code: number;
  /** One sentence for people. @default the name as a sentence: `TOO_LONG` reads "Too long" */
  readonly message?: string;
  /** Checks what the handler sends along, and gives it a type. @default no data */
  readonly data?: Schema;
}

/** The errors that a method declares, by the names under which its handler throws them. */
export type ErrorDefinitions = { readonly [name: string]: ErrorDefinition };

/**
 * Defines errors that methods share. Their codes keep their literal types, by which callers distinguish the errors.
 * @example
 * ```ts
 * import { defineErrors, method } from "callwire";
 * import { z } from "zod";
 *
 * const { NOT_FOUND, LOCKED } = defineErrors({
 *   NOT_FOUND: { code: 1404, data: z.object({ id: z.string() }) },
 *   LOCKED: { code: 1423 },
 * });
 * const params = z.object({ id: z.string() });
 *
 * export const tasks = {
 *   get: method({ params, errors: { NOT_FOUND } }),
 *   remove: method({ params, errors: { NOT_FOUND, LOCKED } }),
 * };
 * ```
 */
export function defineErrors<const Errors extends ErrorDefinitions>(errors: Errors): Errors {
  return errors;
}

/** How agents see a method that is offered to them as a tool. */
export interface ToolHints {
  /** The tool's name. @default the method's name, with "_" for characters that tool names may not hold */
  readonly name?: string;
  /** A display name. */
  readonly title?: string;
  /** The tool changes nothing. @default false */
  readonly readOnly?: boolean;
  /** The tool may destroy something. @default not stated */
  readonly destructive?: boolean;
  /** The tool reaches beyond this server. @default not stated */
  readonly openWorld?: boolean;
  /** Whether it may or must run as a task that the caller polls. @default neither */
  readonly task?: "optional" | "required";
}

/** Limits that a method may have for itself, lower or higher than those of its server. */
export interface MethodLimits {
  /**
   * Longest message of a call, in characters. Wires accept the longest of any method, and a longer call of another
   * method is refused before its handler and middleware run. Batches have the server's limit. @default the server's
   */
  readonly maxMessageBytes?: number;
  /** Most files, Blobs, byte streams and long byte arrays of a call. @default the server's */
  readonly maxFiles?: number;
  /** Longest of them, in bytes. @default the server's */
  readonly maxFileBytes?: number;
}

interface Description {
  /** One line for lists. */
  readonly summary?: string;
  /** Everything that `summary` does not say; Markdown. */
  readonly description?: string;
  /** Shown with the method in reference pages and in the playground. */
  readonly tags?: readonly string[];
  /** Warns readers of the document and of generated clients. @default false */
  readonly deprecated?: boolean;
  /** Calls with their results, for reference pages and the playground. */
  readonly examples?: readonly {
    readonly name?: string;
    readonly params?: unknown;
    readonly result?: unknown;
  }[];
  /** Whether running it twice is the same as once; only such calls are ever retried. @default false */
  readonly idempotent?: boolean;
  /** Timeout of this method. @default the server's */
  readonly timeoutMs?: number;
  /**
   * False sends replies without compression. Use it if a reply holds a secret next to what an attacker can choose, such
   * as a token and a search term: its compressed length would reveal the secret (BREACH). @default true
   */
  readonly compress?: boolean;
  /** Limits of the calls of this method, instead of those of the server. @default the server's */
  readonly limits?: MethodLimits;
  /** Names of positional params in order, if the schema does not give them. */
  readonly positional?: readonly string[];
  /** The errors that the handler may throw, by name; clients get their types. */
  readonly errors?: ErrorDefinitions;
  /** Checks each progress report, which must not take time, and gives it a type. @default anything is reported */
  readonly progress?: Schema;
  /** Checks the params before the handler runs; bad ones are refused with -32602. @default anything is accepted */
  readonly params?: Schema;
  /**
   * The schema of each item that the caller sends while the call runs; the handler reads them from `call.upload`.
   * @default the caller sends params only
   */
  readonly upload?: Schema;
  /** Who may call it; for other callers it does not exist. @default everyone */
  readonly access?: AccessRule;
  /** False hides it from agents; true or hints offer it if only marked methods are offered. @default not marked */
  readonly tool?: boolean | ToolHints;
}

/** The definition that `method` takes: a description, and the schemas of params, result and errors. */
export interface MethodDefinition extends Description {
  /** Checks what the handler returns, and gives it a type. @default what the handler returns, unchecked */
  readonly result?: Schema;
}

/** The definition that `stream` takes: the same, with a schema of items instead of a result. */
export interface StreamDefinition extends Description {
  /** The schema of each item. */
  readonly item?: Schema;
}

type StandardCode = (typeof ErrorCode)[keyof typeof ErrorCode];

/** The JSON-RPC errors that a call can fail with: those its method declares, and the standard ones. */
export type DeclaredErrors<Errors, V extends Values = "json"> =
  | {
      [Name in keyof Errors]: Errors[Name] extends { readonly code: infer Code extends number }
        ? RpcError<
            Code,
            Errors[Name] extends { readonly data: infer Data extends Schema }
              ? ReceivedMember<OutputOf<Data>, V>
              : undefined,
            Name & string
          >
        : never;
    }[keyof Errors]
  | RpcError<StandardCode, unknown, "">;
