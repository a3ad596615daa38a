import { printable } from "callwire";
import type { ContentBlock, PromptDescription, ToolDescription } from "callwire/mcp";
import { typeOf } from "../declared-types.ts";
import { jsonView, type Terminal } from "../terminal.ts";
import { widest } from "../text-columns.ts";

interface Listed {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** One line per name with its description, then its arguments: `a=number`, in brackets if optional. */
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
      // Some servers repeat the name as description.
      about === "" || about === name
        ? terminal.cyan(printable(name))
        : `${terminal.cyan(printable(name))}${padding}  ${printable(about)}`,
      ...(args.length === 0 ? [] : [terminal.dim(`    ${args.join(" ")}`)]),
    ];
  });
}

/** Content for people: text, else structured data, and a note instead of bytes. */
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
        // Unknown kinds may lack a MIME type.
        return [note(terminal, block.type, block.mimeType)];
    }
  });
}

/** A placeholder for content that a terminal cannot show. */
function note(terminal: Terminal, ...words: readonly unknown[]): string {
  const shown = words.filter((word) => typeof word === "string").map(printable);
  return terminal.dim(`(${shown.join(", ")})`);
}

/** Keeps tabs, which are harmless. */
function textLines(text: string): string[] {
  return text.split(/\r?\n/).map((line) => line.split("\t").map(printable).join("\t"));
}

export interface Argument {
  readonly name: string;
  /** Undefined if any type is allowed, or several. */
  readonly type: string | undefined;
  readonly required: boolean;
}

/** The schema comes from the server, so it may be invalid. */
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

export function promptArguments({ arguments: args }: PromptDescription): Argument[] {
  return (args ?? []).map(({ name, required = false }) => ({ name, type: undefined, required }));
}
