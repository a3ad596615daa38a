import type { JsonSchemaObject } from "./json-schema.ts";

/** What is said about a plain function where it was written. */
export interface FunctionNotes {
  readonly summary?: string;
  readonly description?: string;
  /** About its arguments, by name. */
  readonly params?: Readonly<Record<string, ArgumentNotes>>;
  /** About the members of the one object that it takes apart. */
  readonly members?: Readonly<Record<string, ArgumentNotes>>;
  readonly result?: JsonSchemaObject;
}

export interface ArgumentNotes {
  readonly schema: JsonSchemaObject;
  /** Whether it may be missing, though it has no default. */
  readonly optional?: boolean;
}

/**
 * Under this key a function carries its notes. It cannot read them itself: comments are no part of a
 * function, and whoever has its source writes them here.
 */
const key: unique symbol = Symbol.for("callwire.notes");

export function notesOf(run: (...args: never[]) => unknown): FunctionNotes {
  return (run as { [key]?: FunctionNotes })[key] ?? {};
}

/** The part of the notes that a definition has. */
export function definitionOf(
  run: (...args: never[]) => unknown,
): Pick<FunctionNotes, "summary" | "description"> {
  const { summary, description } = notesOf(run);
  return {
    ...(summary !== undefined && { summary }),
    ...(description !== undefined && { description }),
  };
}

/** Whether a function yields items; told by its tag, which functions of another realm have too. */
export function isGeneratorFunction(run: unknown): boolean {
  const { [Symbol.toStringTag]: tag } = run as { [Symbol.toStringTag]?: unknown };
  return tag === "AsyncGeneratorFunction" || tag === "GeneratorFunction";
}
