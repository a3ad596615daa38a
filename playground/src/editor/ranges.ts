import { syntaxTree } from "@codemirror/language";
import type { EditorState } from "@codemirror/state";
import type { Path } from "../schema/path.ts";

export type SyntaxNode = ReturnType<typeof syntaxTree>["topNode"];

/** The range of a value in the text, or of the nearest value around it. */
export function rangeOf(state: EditorState, path: Path): { from: number; to: number } {
  let node: SyntaxNode | null = syntaxTree(state).topNode.firstChild;
  for (const step of path) {
    const inner: SyntaxNode | undefined = node === null ? undefined : childAt(state, node, step);
    if (inner === undefined) break;
    node = inner;
  }
  const from = node?.from ?? 0;
  const to = node?.to ?? state.doc.length;
  // An object or array is marked on its first line only.
  return { from, to: Math.min(to, Math.max(from, state.doc.lineAt(from).to)) };
}

function childAt(
  state: EditorState,
  node: SyntaxNode,
  step: string | number,
): SyntaxNode | undefined {
  if (node.name === "Array") {
    let index = 0;
    for (let child = node.firstChild; child !== null; child = child.nextSibling) {
      if (!isValue(child)) continue;
      if (index === Number(step)) return child;
      index++;
    }
    return undefined;
  }
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    if (child.name === "Property" && nameOf(state, child) === step) return child.lastChild ?? child;
  }
  return undefined;
}

/** The path from the root to a node, as names and indexes. */
export function pathTo(state: EditorState, node: SyntaxNode | null): Path {
  const steps: (string | number)[] = [];
  for (let inner = node; inner !== null; inner = inner.parent) {
    const { parent } = inner;
    if (inner.name === "Property") steps.unshift(nameOf(state, inner) ?? "");
    else if (parent?.name === "Array" && isValue(inner)) {
      let index = 0;
      for (let before = inner.prevSibling; before !== null; before = before.prevSibling) {
        if (isValue(before)) index++;
      }
      steps.unshift(index);
    }
  }
  return steps;
}

export function nameOf(state: EditorState, property: SyntaxNode): string | undefined {
  const name = property.getChild("PropertyName");
  if (name === null) return undefined;
  try {
    return JSON.parse(state.sliceDoc(name.from, name.to)) as string;
  } catch {
    return undefined;
  }
}

function isValue({ name }: SyntaxNode): boolean {
  return /^(Object|Array|String|Number|True|False|Null)$/.test(name);
}
