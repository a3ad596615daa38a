import type { Completion, CompletionContext, CompletionResult } from "@codemirror/autocomplete";
import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { JsonSchema, JsonSchemaObject } from "callwire/openrpc";
import { typeText } from "../schema/describe.ts";
import type { Path } from "../schema/path.ts";
import { choicesOf, isObject, resolved, typesOf, variantsOf } from "../schema/resolve.ts";
import { sampleOf } from "../schema/sample.ts";
import { itemSchema } from "../schema/validate.ts";
import * as draft from "../state/draft.ts";
import { components } from "../state/session.ts";
import { nameOf, pathTo, type SyntaxNode } from "./ranges.ts";

/** Suggests the members of objects and the values that the schema lists. */
export function completeFromSchema(context: CompletionContext): CompletionResult | null {
  const { state, pos } = context;
  const node = syntaxTree(state).resolveInner(pos, -1);
  const word = context.matchBefore(/"[^"]*|[\w.-]*/);
  const from = word?.from ?? pos;
  const isName = node.name === "PropertyName" || atName(state, node, from);
  const options = isName ? names(state, objectAround(node)) : values(state, node);
  if (options.length === 0 || (from === pos && !context.explicit)) return null;
  const to =
    state.sliceDoc(pos, pos + 1) === '"' && state.sliceDoc(from, from + 1) === '"' ? pos + 1 : pos;
  return { from, to, options, validFor: /^"?[^"]*$/ };
}

/** Whether a name comes next: after the brace or a comma of an object. */
function atName(state: EditorState, node: SyntaxNode, pos: number): boolean {
  if (objectAround(node) === null) return false;
  return (
    /[{,]\s*$/.test(state.sliceDoc(Math.max(0, pos - 200), pos)) &&
    nearestContainer(node) === "Object"
  );
}

function nearestContainer(node: SyntaxNode): string | undefined {
  for (let inner: SyntaxNode | null = node; inner !== null; inner = inner.parent) {
    if (inner.name === "Object" || inner.name === "Array") return inner.name;
  }
  return undefined;
}

function objectAround(node: SyntaxNode): SyntaxNode | null {
  for (let inner: SyntaxNode | null = node; inner !== null; inner = inner.parent) {
    if (inner.name === "Object") return inner;
  }
  return null;
}

function names(state: EditorState, object: SyntaxNode | null): Completion[] {
  const given = new Set(
    (object?.getChildren("Property") ?? []).map((member) => nameOf(state, member)),
  );
  const members = new Map<string, JsonSchema>();
  for (const schema of schemasAt(pathTo(state, object))) {
    for (const [name, member] of Object.entries(schema.properties ?? {})) {
      if (!given.has(name)) members.set(name, member as JsonSchema);
    }
  }
  return [...members].map(([name, member]) => ({
    label: JSON.stringify(name),
    detail: typeText(member, components.value),
    apply: `${JSON.stringify(name)}: ${JSON.stringify(sampleOf(member, components.value)) ?? "null"}`,
  }));
}

function values(state: EditorState, node: SyntaxNode): Completion[] {
  const offered = schemasAt(pathTo(state, node)).flatMap((schema) => {
    const choices = choicesOf(schema);
    if (choices !== undefined) return choices;
    return typesOf(schema).includes("boolean") ? [true, false] : [];
  });
  return [...new Set(offered.map((value) => JSON.stringify(value)))].map((label) => ({ label }));
}

/** The schemas that a value at a path may follow; unions have several. */
function schemasAt(path: Path): JsonSchemaObject[] {
  let schemas = spread(draft.schema.peek());
  for (const step of path) {
    schemas = schemas.flatMap((schema) => {
      if (typeof step === "number") return spread(itemSchema(schema, step) ?? {});
      const { properties = {}, additionalProperties } = schema;
      if (Object.hasOwn(properties, step)) return spread(properties[step] as JsonSchema);
      return isObject(additionalProperties) ? spread(additionalProperties as JsonSchema) : [];
    });
  }
  return schemas;
}

function spread(schema: JsonSchema, depth = 0): JsonSchemaObject[] {
  const known = resolved(schema, components.peek());
  if (depth > 4) return [known];
  const parts = [
    ...(variantsOf(known) ?? []),
    ...(Array.isArray(known.allOf) ? (known.allOf as JsonSchema[]) : []),
  ];
  return [known, ...parts.flatMap((part) => spread(part, depth + 1))];
}
