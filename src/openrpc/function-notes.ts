import type { JsonSchemaObject } from "./json-schema.ts";

/** What the source code says about a plain function in comments and types. */
export interface FunctionNotes {
  readonly summary?: string;
  readonly description?: string;
  /** Notes on its arguments, by name. */
  readonly params?: Readonly<Record<string, ArgumentNotes>>;
  /** Notes on the members of its single destructured object. */
  readonly members?: Readonly<Record<string, ArgumentNotes>>;
  readonly result?: JsonSchemaObject;
}

export interface ArgumentNotes {
  readonly schema: JsonSchemaObject;
  /** Whether it is optional without having a default value. */
  readonly optional?: boolean;
}

/**
 * Property of a function that holds its notes. A running function does not include its comments, so
 * the program that reads its source stores them here.
 */
const key: unique symbol = Symbol.for("callwire.notes");

export function notesOf(run: (...args: never[]) => unknown): FunctionNotes {
  return (run as { [key]?: FunctionNotes })[key] ?? {};
}

/** The notes that belong in a method definition. */
export function definitionOf(
  run: (...args: never[]) => unknown,
): Pick<FunctionNotes, "summary" | "description"> {
  const { summary, description } = notesOf(run);
  return {
    ...(summary !== undefined && { summary }),
    ...(description !== undefined && { description }),
  };
}

/** Whether a function is a generator. Checks the tag, which also works across realms. */
export function isGeneratorFunction(run: unknown): boolean {
  const { [Symbol.toStringTag]: tag } = run as { [Symbol.toStringTag]?: unknown };
  return tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction";
}
