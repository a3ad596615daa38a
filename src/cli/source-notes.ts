import type { JsonSchemaObject } from "callwire/openrpc";
import { annotationsIn } from "./annotations.ts";
import { commentsIn } from "./doc-comments.ts";
import type { ArgumentNotes } from "./written-types.ts";

/** What the source of a function says of it, beside its code. */
export interface FunctionNotes {
  readonly summary?: string;
  readonly description?: string;
  /** About its arguments, by name. */
  readonly params: Readonly<Record<string, ArgumentNotes>>;
  /** About the members of the one object that it takes apart. */
  readonly members: Readonly<Record<string, ArgumentNotes>>;
  readonly result?: JsonSchemaObject;
}

/** By which the package finds what is said of a plain function. */
const key = Symbol.for("callwire.notes");

/** Gives the plain functions among some methods what their source says of them. */
export async function noteFunctions(
  methods: object,
  source: string,
  isTypescript: boolean,
): Promise<void> {
  const functions = [...functionsOf(methods, new Set())];
  if (functions.length === 0) return;
  const comments = commentsIn(source);
  const annotations = isTypescript ? await annotationsIn(source) : new Map<string, FunctionNotes>();
  for (const [name, run] of functions) {
    const value = merged(comments.get(name), annotations.get(name));
    if (value !== undefined) Reflect.defineProperty(run, key, { value, configurable: true });
  }
}

/** What is no group of methods is refused later; here it must not be gone through for ever. */
function* functionsOf(group: object, seen: Set<object>): Generator<[string, object]> {
  if (seen.has(group) || "definition" in group) return;
  seen.add(group);
  for (const [name, entry] of Object.entries(group)) {
    if (typeof entry === "object" && entry !== null) yield* functionsOf(entry, seen);
    else if (typeof entry === "function") yield [name, entry];
  }
}

/** The compiler holds a program to its annotations, so these go before comments. */
function merged(
  comment: FunctionNotes | undefined,
  annotated: FunctionNotes | undefined,
): FunctionNotes | undefined {
  if (comment === undefined || annotated === undefined) return comment ?? annotated;
  return {
    ...comment,
    ...annotated,
    params: mergedArguments(comment.params, annotated.params),
    members: mergedArguments(comment.members, annotated.members),
  };
}

function mergedArguments(
  comments: FunctionNotes["params"],
  annotations: FunctionNotes["params"],
): FunctionNotes["params"] {
  const found = new Map(Object.entries(comments));
  for (const [name, annotated] of Object.entries(annotations)) {
    const said = found.get(name);
    found.set(name, said === undefined ? annotated : mergedNotes(said, annotated));
  }
  return Object.fromEntries(found);
}

function mergedNotes(said: ArgumentNotes, annotated: ArgumentNotes): ArgumentNotes {
  const { description } = said.schema;
  const isTyped = Object.keys(annotated.schema).length > 0;
  return {
    ...((said.optional === true || annotated.optional === true) && { optional: true }),
    schema: isTyped
      ? { ...annotated.schema, ...(description !== undefined && { description }) }
      : said.schema,
  };
}
