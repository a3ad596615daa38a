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

/** Whether a tool takes text, and nothing else, at a place in its arguments. */
export function takesText({ inputSchema }: ToolDescription, path: readonly string[]): boolean {
  let schema: unknown = inputSchema;
  for (const name of path) {
    const { properties } = (schema ?? {}) as { properties?: unknown };
    if (!Object.hasOwn(properties ?? {}, name)) return false;
    schema = (properties as Record<string, unknown>)[name];
  }
  return typeOf(schema) === "string";
}

export function promptArguments({ arguments: args }: PromptDescription): Argument[] {
  return (args ?? []).map(({ name, required = false }) => ({ name, type: undefined, required }));
}

function typeOf(schema: unknown): string | undefined {
  const { type } = (schema ?? {}) as { type?: unknown };
  return typeof type === "string" ? type : undefined;
}
