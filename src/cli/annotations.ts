import type { FunctionNotes } from "./source-notes.ts";
import { type ArgumentNotes, writtenMembers, writtenResult, writtenType } from "./written-types.ts";

/** The parts of Babel's syntax tree that are used here. */
interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly name?: string;
  readonly value?: unknown;
  readonly optional?: boolean;
  readonly computed?: boolean;
  readonly id?: Node | null;
  readonly key?: Node;
  readonly left?: Node;
  readonly init?: Node | null;
  readonly expression?: Node;
  readonly declaration?: Node | null;
  readonly declarations?: readonly Node[];
  readonly properties?: readonly Node[];
  readonly params?: readonly Node[];
  readonly body?: readonly Node[];
  readonly typeAnnotation?: Node;
  readonly returnType?: Node;
}

/**
 * The type annotations of the functions in a TypeScript source, by name; ambiguous names are left out.
 * Uses the parser that loads modules, so every source that loads can be read.
 */
export async function annotationsIn(source: string): Promise<Map<string, FunctionNotes>> {
  const { createJiti } = await import("jiti");
  let found = new Map<string, FunctionNotes>();
  const plugin = () => ({
    // Before other plugins remove the types.
    pre({ ast }: { readonly ast: { readonly program: Node } }) {
      found = annotationsOfAll(ast.program, source);
    },
    visitor: {},
  });
  const jiti = createJiti(import.meta.url, { fsCache: false });
  jiti.transform({ source, ts: true, babel: { plugins: [plugin] } });
  return found;
}

function annotationsOfAll({ body = [] }: Node, source: string): Map<string, FunctionNotes> {
  const found = new Map<string, FunctionNotes | undefined>();
  for (const [name, run] of body.flatMap((statement) => [...functionsIn(statement)])) {
    found.set(name, found.has(name) ? undefined : annotationsOf(run, source));
  }
  return new Map([...found].flatMap(([name, notes]) => (notes ? [[name, notes]] : [])));
}

/** Top-level functions and functions in objects, but not nested ones. */
function* functionsIn(node: Node | null | undefined): Generator<[string, Node]> {
  switch (node?.type) {
    case "ExportNamedDeclaration":
    case "ExportDefaultDeclaration":
      yield* functionsIn(node.declaration);
      break;
    case "TSAsExpression":
    case "TSSatisfiesExpression":
      yield* functionsIn(node.expression);
      break;
    case "FunctionDeclaration":
    // Overloads make the name ambiguous.
    case "TSDeclareFunction":
      if (node.id?.name !== undefined) yield [node.id.name, node];
      break;
    case "VariableDeclaration":
      for (const { id, init } of node.declarations ?? []) yield* namedIn(id?.name, init);
      break;
    case "ObjectExpression":
      for (const member of node.properties ?? []) {
        const value = member.type === "ObjectMethod" ? member : (member.value as Node);
        yield* namedIn(keyOf(member), value);
      }
  }
}

const functionTypes = new Set(["ArrowFunctionExpression", "FunctionExpression", "ObjectMethod"]);

function* namedIn(
  name: string | undefined,
  value: Node | null | undefined,
): Generator<[string, Node]> {
  if (!functionTypes.has(value?.type ?? "")) yield* functionsIn(value);
  else if (name !== undefined) yield [name, value as Node];
}

function keyOf({ key, computed }: Node): string | undefined {
  if (computed === true) return undefined;
  return key?.name ?? (typeof key?.value === "string" ? key.value : undefined);
}

function annotationsOf(run: Node, source: string): FunctionNotes {
  const textOf = ({ start, end }: Node): string => source.slice(start, end);
  const typeOf = ({ typeAnnotation }: Node): ArgumentNotes | undefined =>
    typeAnnotation?.typeAnnotation && writtenType(textOf(typeAnnotation.typeAnnotation));
  const params: [string, ArgumentNotes][] = [];
  const members: [string, ArgumentNotes][] = [];
  for (const param of run.params ?? []) {
    const target = param.left ?? param;
    const { name, optional = false } = target;
    const type = typeOf(target) ?? (optional ? { schema: {} } : undefined);
    if (type === undefined) continue;
    if (target.type === "ObjectPattern") members.push(...membersOf(target, type));
    else if (name !== undefined) params.push([name, optional ? { ...type, optional } : type]);
  }
  const returned = run.returnType?.typeAnnotation;
  const result = returned && writtenResult(textOf(returned));
  return {
    params: Object.fromEntries(params),
    members: Object.fromEntries(members),
    ...(result !== undefined && { result }),
  };
}

/** Members of a named type are optional, because its definition is unknown. */
function membersOf({ properties = [] }: Node, type: ArgumentNotes): [string, ArgumentNotes][] {
  const known = writtenMembers(type);
  return properties.flatMap((member) => {
    const name = keyOf(member);
    if (name === undefined) return [];
    const notes = Object.hasOwn(known, name) ? known[name] : undefined;
    return [[name, notes ?? { schema: {}, optional: true }]];
  });
}
