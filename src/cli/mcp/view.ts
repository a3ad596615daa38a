import { printable } from "callwire";
import type { ContentBlock, PromptDescription, ToolDescription } from "callwire/mcp";
import { widest } from "../command.ts";
import { jsonView, type Terminal } from "../terminal.ts";

interface Listed {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/**
 * A name on each line, with the first line of what is said about it. Below stands what it takes, as it is
 * written after its name: `a=number`, in brackets where it may be left out.
 */
export function listLines<T extends Listed>(
  entries: readonly T[],
  terminal: Terminal,
  argumentsOf: (entry: T) => readonly Argument[] = () => [],
): string[] {
  const width = widest(entries.map(({ name }) => name));
  return entries.flatMap((entry) => {
    const { name, title, description } = entry;
    const [about = ""] = (description ?? title ?? "").split("\n");
    const padding = " ".repeat(Math.max(0, width - name.length));
    const args = argumentsOf(entry).map(({ name, type, required }) => {
      const text = printable(type === undefined ? name : `${name}=${type}`);
      return required ? text : `[${text}]`;
    });
    return [
      // A server that has nothing to say of a tool may repeat its name.
      about === "" || about === name
        ? terminal.cyan(printable(name))
        : `${terminal.cyan(printable(name))}${padding}  ${printable(about)}`,
      ...(args.length === 0 ? [] : [terminal.dim(`    ${args.join(" ")}`)]),
    ];
  });
}

/** Content for people: text as it is, data where there is none, and a note in place of bytes. */
export function contentLines(
  content: readonly ContentBlock[],
  structured: unknown,
  terminal: Terminal,
): string[] {
  if (content.length === 0 && structured !== undefined) return [jsonView(structured, terminal)];
  return content.flatMap((block) => {
    switch (block.type) {
      case "text":
        return textLines(block.text);
      case "resource":
        return block.resource.text === undefined
          ? [note(terminal, block.resource.mimeType ?? "bytes", block.resource.uri)]
          : textLines(block.resource.text);
      case "resource_link":
        return [terminal.cyan(printable(block.uri))];
      default:
        // A kind that is not known here need not say which bytes it has.
        return [note(terminal, block.type, block.mimeType)];
    }
  });
}

/** In brackets, in place of what a terminal does not show. */
function note(terminal: Terminal, ...words: readonly unknown[]): string {
  const said = words.filter((word) => typeof word === "string").map(printable);
  return terminal.dim(`(${said.join(", ")})`);
}

/** Tabs belong to a text, and to no terminal do they any harm. */
function textLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split("\t").map(printable).join("\t"));
}

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
