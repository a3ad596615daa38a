import type { JsonSchemaObject } from "callwire/openrpc";
import { annotationsIn } from "./annotations.ts";
import { commentsIn } from "./doc-comments.ts";
import type { ArgumentNotes } from "./written-types.ts";

/** What comments and annotations say about a function. */
export interface FunctionNotes {
  readonly summary?: string;
  readonly description?: string;
  readonly params: Readonly<Record<string, ArgumentNotes>>;
  /** The members of its destructured argument, by name. */
  readonly members: Readonly<Record<string, ArgumentNotes>>;
  readonly result?: JsonSchemaObject;
}

/** Where the package looks for the notes of a plain function. */
const key = Symbol.for("callwire.notes");

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

/** Invalid groups are refused later; `seen` stops cycles. */
function* functionsOf(group: object, seen: Set<object>): Generator<[string, object]> {
  if (seen.has(group) || "definition" in group) return;
  seen.add(group);
  for (const [name, entry] of Object.entries(group)) {
    if (typeof entry === "object" && entry !== null) yield* functionsOf(entry, seen);
    else if (typeof entry === "function") yield [name, entry];
  }
}

/** Annotations win over comments, because the compiler checks them. */
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
