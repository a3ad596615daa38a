/** A piece of a line of Markdown. */
export type MarkdownSpan =
  | { readonly kind: "text" | "code" | "strong" | "emphasis"; readonly text: string }
  | { readonly kind: "link"; readonly text: string; readonly url: string };

/** A block of Markdown. */
export type MarkdownBlock =
  | { readonly kind: "paragraph" | "heading"; readonly spans: readonly MarkdownSpan[] }
  | { readonly kind: "code"; readonly text: string }
  | {
      readonly kind: "list";
      readonly ordered: boolean;
      readonly items: readonly (readonly MarkdownSpan[])[];
    };

const fence = /^ {0,3}```/;
const heading = /^ {0,3}#{1,6} +(.*?) *#*$/;
const item = /^ {0,3}(?:[-*+]|(\d{1,9})[.)]) +(.*)$/;

/**
 * Reads the part of Markdown that descriptions use: paragraphs, headings, lists, code, emphasis and links to `http:` and
 * `https:` addresses. Everything else, such as HTML and images, stays text, so that a page can show it safely.
 * @example
 * ```ts
 * import { readMarkdown } from "callwire/openrpc";
 *
 * console.log(readMarkdown("Adds `a` to **b**."));
 * ```
 */
export function readMarkdown(text: string): MarkdownBlock[] {
  const blocks: MarkdownBlock[] = [];
  let lines: string[] = [];
  const endParagraph = (): void => {
    if (lines.length > 0) blocks.push({ kind: "paragraph", spans: spansOf(lines.join("\n")) });
    lines = [];
  };
  const all = text.split(/\r\n|\r|\n/);
  for (let i = 0; i < all.length; i++) {
    const line = all[i] as string;
    if (fence.test(line)) {
      endParagraph();
      const start = ++i;
      while (i < all.length && !fence.test(all[i] as string)) i++;
      blocks.push({ kind: "code", text: all.slice(start, i).join("\n") });
      continue;
    }
    const [, title] = heading.exec(line) ?? [];
    const isItem = item.test(line);
    if (title !== undefined) {
      endParagraph();
      blocks.push({ kind: "heading", spans: spansOf(title) });
    } else if (isItem && lines.length === 0) {
      const end = endOfList(all, i);
      blocks.push(listOf(all.slice(i, end)));
      i = end - 1;
    } else if (line.trim() === "") endParagraph();
    else lines.push(line.trim());
  }
  endParagraph();
  return blocks;
}

function endOfList(lines: readonly string[], start: number): number {
  let end = start;
  while (end < lines.length && (lines[end] as string).trim() !== "") end++;
  return end;
}

function listOf(lines: readonly string[]): MarkdownBlock {
  const items: string[] = [];
  for (const line of lines) {
    const [, , text] = item.exec(line) ?? [];
    if (text !== undefined) items.push(text);
    else items.push(`${items.pop() ?? ""} ${line.trim()}`);
  }
  const ordered = item.exec(lines[0] ?? "")?.[1] !== undefined;
  return { kind: "list", ordered, items: items.map(spansOf) };
}

/** Every repetition is bounded, so that hostile text is read in linear time. */
const span =
  /`([^`\n]{1,500})`|\*\*(\S[^*]{0,500})\*\*|(?<![*\w])\*(\S[^*]{0,500})\*(?!\w)|(?<![_\w])_([^\s_][^_]{0,500})_(?!\w)|\[([^[\]]{1,500})\]\((https?:\/\/[^\s()<>"]{1,2000})\)/g;

function spansOf(text: string): MarkdownSpan[] {
  const spans: MarkdownSpan[] = [];
  let end = 0;
  const plain = (until: number): void => {
    if (until > end) spans.push({ kind: "text", text: text.slice(end, until) });
  };
  for (const match of text.matchAll(span)) {
    const [whole, code, strong, star, low, label, url] = match;
    plain(match.index);
    end = match.index + whole.length;
    const emphasis = star ?? low;
    if (code !== undefined) spans.push({ kind: "code", text: code });
    else if (strong !== undefined) spans.push({ kind: "strong", text: strong });
    else if (emphasis !== undefined) spans.push({ kind: "emphasis", text: emphasis });
    else spans.push({ kind: "link", text: label ?? "", url: url ?? "" });
  }
  plain(text.length);
  return spans;
}
