import type { PromptDescription, ToolDescription } from "callwire/mcp";

/** Something that a tool or a prompt takes. */
export interface Argument {
  readonly name: string;
  /** Undefined where any is taken, or it cannot be told in a word. */
  readonly type: string | undefined;
  readonly required: boolean;
}

/** Read with care: the schema is whatever a server sent. */
export function toolArguments({ inputSchema }: ToolDescription): Argument[] {
  const { properties, required } = (inputSchema ?? {}) as Record<string, unknown>;
  if (typeof properties !== "object" || properties === null) return [];
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    type: typeOf(schema),
    required: needed.includes(name),
  }));
}

/** Whether a tool can only mean text by a word at a place in its arguments; null is one where it takes that, too. */
export function takesText(
  { inputSchema }: ToolDescription,
  path: readonly string[],
  word: string,
): boolean {
  let schema: unknown = inputSchema;
  for (const name of path) {
    const { properties } = (schema ?? {}) as { properties?: unknown };
    if (!Object.hasOwn(properties ?? {}, name)) return false;
    schema = (properties as Record<string, unknown>)[name];
  }
  const types = typesOf(schema);
  const others = types.filter((type) => type !== "string");
  if (others.length === types.length) return false;
  return others.every((type) => type === "null" && word !== "null");
}

export function promptArguments({ arguments: args }: PromptDescription): Argument[] {
  return (args ?? []).map(({ name, required = false }) => ({ name, type: undefined, required }));
}

function typeOf(schema: unknown): string | undefined {
  const { type } = (schema ?? {}) as { type?: unknown };
  return typeof type === "string" ? type : undefined;
}

/** Also those of which it takes any, as text that may be null is told. */
function typesOf(schema: unknown): readonly unknown[] {
  const { anyOf, oneOf = anyOf, type } = (schema ?? {}) as Record<string, unknown>;
  return Array.isArray(oneOf) ? oneOf.map(typeOf) : [type].flat();
}
