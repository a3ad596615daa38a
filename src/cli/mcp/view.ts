import type { ContentBlock } from "callwire/mcp";
import { printable } from "../call-failure.ts";
import { jsonView } from "../json-view.ts";
import type { Terminal } from "../terminal.ts";

interface Listed {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description?: string | undefined;
}

/** A name on each line, with the first line of what is said about it. */
export function listLines(entries: readonly Listed[], terminal: Terminal): string[] {
  const width = Math.max(0, ...entries.map(({ name }) => name.length));
  return entries.map(({ name, title, description }) => {
    const [about = ""] = (description ?? title ?? "").split("\n");
    const padding = " ".repeat(width - name.length);
    return about === ""
      ? terminal.cyan(printable(name))
      : `${terminal.cyan(printable(name))}${padding}  ${printable(about)}`;
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
          ? [terminal.dim(`(${block.resource.mimeType ?? "bytes"}, ${block.resource.uri})`)]
          : textLines(block.resource.text);
      case "resource_link":
        return [terminal.cyan(printable(block.uri))];
      default:
        return [terminal.dim(`(${block.type}, ${printable(block.mimeType)})`)];
    }
  });
}

function textLines(text: string): string[] {
  return text.split("\n").map(printable);
}
