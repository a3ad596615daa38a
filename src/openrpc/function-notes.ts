/** What is said about a plain function where it was written. */
export interface FunctionNotes {
  readonly summary?: string;
  readonly description?: string;
  /** About its arguments, by name. */
  readonly params?: Readonly<Record<string, string>>;
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
