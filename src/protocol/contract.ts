import type { AccessRule } from "./access.ts";
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
  /** An integer that callers recognise the error by. JSON-RPC reserves -32768 to -32000. */
  readonly code: number;
  /** One sentence for people. @default the name as a sentence: `TOO_LONG` reads "Too long" */
  readonly message?: string;
  /** Checks what the handler sends along, and gives it a type. @default no data */
  readonly data?: Schema;
}

/** The errors that a method declares, by the names under which its handler throws them. */
export type ErrorDefinitions = { readonly [name: string]: ErrorDefinition };

/** How agents see a method, where it is offered to them as a tool. */
export interface ToolHints {
  /** The name by which they call it. @default the method's own, with "_" for what no name of a tool may hold */
  readonly name?: string;
  /** A name for people. */
  readonly title?: string;
  /** It changes nothing. @default not said, which means false in MCP */
  readonly readOnly?: boolean;
  /** It may destroy something. @default not said, which means true in MCP */
  readonly destructive?: boolean;
  /** It reaches beyond this server. @default not said, which means true in MCP */
  readonly openWorld?: boolean;
  /** Whether it may or must run as a task that the caller asks about later. @default neither */
  readonly task?: "optional" | "required";
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
  /** Whether running it twice is the same as once; only such calls are ever sent again. @default false */
  readonly idempotent?: boolean;
  /** Longest run of this method. @default the server's */
  readonly timeoutMs?: number;
  /** Names of positional params, in order, where the schema does not tell them. */
  readonly positional?: readonly string[];
  /** The errors that the handler may throw, by name; clients get their types. */
  readonly errors?: ErrorDefinitions;
  /** Checks the params before the handler runs; bad ones are refused with -32602. @default anything is accepted */
  readonly params?: Schema;
  /** Who may call it; to everybody else it does not exist. @default everybody */
  readonly access?: AccessRule;
  /**
   * False hides it from agents; true or hints offer it where only marked methods are.
   * @default offered, unless only marked methods are
   */
  readonly tool?: boolean | ToolHints;
}

/** What `method` takes: a description, and the schemas of params, result and errors. */
export interface MethodDefinition extends Description {
  /** Checks what the handler returns, and gives it a type. @default what the handler returns, unchecked */
  readonly result?: Schema;
}

/** What `stream` takes: the same, with the schema of an item in place of a result. */
export interface StreamDefinition extends Description {
  /** What each item looks like. */
  readonly item?: Schema;
}

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
