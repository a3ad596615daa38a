import { printableLines } from "../protocol/printable.ts";
import { type MarkdownBlock, type MarkdownSpan, readMarkdown } from "./markdown-reading.ts";
import {
  groupsOf,
  type MethodReference,
  type ReferenceCell,
  type ReferenceTable,
  type ReferenceType,
  referenceOf,
} from "./reference.ts";
import { referenceStyle } from "./reference-style.ts";

/**
 * Writes an HTML reference of the methods in a document: one file without scripts or external resources. Descriptions may
 * be Markdown; HTML in them is shown as text.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { htmlReference, openrpcDocument } from "callwire/openrpc";
 *
 * const document = openrpcDocument(methods, { title: "Calculator", version: "1.0.0" });
 * await writeFile("reference.html", htmlReference(document));
 * ```
 */
export function htmlReference(document: unknown): string {
  const { document: read, methods, types } = referenceOf(document);
  const { info, servers = [] } = read;
  const groups = groupsOf(methods);
  const ordered = groups.flatMap((group) => group.methods.map(({ reference }) => reference));
  const page = new Page(ordered, types);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(info.title)}</title>
<style>${referenceStyle}</style>
</head>
<body>
<a class="skip" href="#content">Skip to the methods</a>
<div class="page">
<nav aria-label="Methods">
${groups.map(({ name, methods: inGroup }) => page.group(name, inGroup)).join("")}${types.length === 0 ? "" : `<h2>Types</h2>\n<ul>${types.map(({ name }) => `<li><a href="#type-${escaped(name)}"><code>${escaped(name)}</code></a></li>`).join("")}</ul>\n`}</nav>
<main id="content">
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
${prose(info.description)}${servers.map(({ url, name = "" }) => `<p><code>${escaped(url)}</code> ${escaped(name)}</p>\n`).join("")}${ordered.map((reference) => page.method(reference)).join("")}${types.map((type) => page.type(type)).join("")}</main>
</div>
</body>
</html>
`;
}

/** Knows the anchors, so that methods and types can link to each other. */
class Page {
  readonly #anchors: ReadonlyMap<MethodReference, string>;
  readonly #types: ReadonlySet<string>;

  constructor(methods: readonly MethodReference[], types: readonly ReferenceType[]) {
    this.#anchors = new Map(methods.map((reference, i) => [reference, `method-${i + 1}`]));
    this.#types = new Set(types.map(({ name }) => name));
  }

  group(name: string, methods: readonly { label: string; reference: MethodReference }[]): string {
    const items = methods.map(({ label, reference }) => {
      const { summary } = reference.method;
      const about = summary === undefined ? "" : ` <small>${escaped(summary)}</small>`;
      return `<li><a href="#${this.#anchors.get(reference)}"><code>${escaped(label)}</code>${about}</a></li>\n`;
    });
    const title = name === "" ? "" : `<h2>${escaped(name)}</h2>\n`;
    return `${title}<ul>\n${items.join("")}</ul>\n`;
  }

  method(reference: MethodReference): string {
    const { method, remarks, params, carried, errors, examples } = reference;
    const { summary } = method;
    return `<section id="${this.#anchors.get(reference)}">
<h2><code>${escaped(method.name)}</code></h2>
${summary === undefined ? "" : `<p>${escaped(summary)}</p>\n`}${prose(method.description)}${
  remarks.length === 0 ? "" : `<p class="remarks">${escaped(remarks.join(", "))}</p>\n`
}${this.#table("Params", params)}${carried.map(([label, type]) => `<p>${label}: ${this.#code(type)}</p>\n`).join("")}${this.#table("Errors", errors)}${examples.map(({ name, lines }) => `<h3>Example: ${escaped(name)}</h3>\n<pre>${escaped(lines.join("\n"))}</pre>\n`).join("")}</section>
`;
  }

  type({ name, text }: ReferenceType): string {
    return `<section id="type-${escaped(name)}">
<h2><code>${escaped(name)}</code></h2>
<pre>${this.#linked(text)}</pre>
</section>
`;
  }

  #table(title: string, { head, rows }: ReferenceTable): string {
    if (rows.length === 0) return "";
    const cell = (of: ReferenceCell, i: number): string => {
      // The first column needs no name on a phone, where each row is a block.
      const name = i === 0 ? "" : ` data-head="${escaped(head[i] ?? "")}"`;
      const text = this.#cell(of);
      return text === "" ? "<td></td>" : `<td${name}>${text}</td>`;
    };
    const body = rows.map((row) => `<tr>${row.map(cell).join("")}</tr>\n`);
    const heads = head.map((name) => `<th scope="col">${escaped(name)}</th>`);
    return `<h3>${title}</h3>\n<table>\n<thead><tr>${heads.join("")}</tr></thead>\n<tbody>\n${body.join("")}</tbody>\n</table>\n`;
  }

  #cell(cell: ReferenceCell): string {
    if (typeof cell === "string") return escaped(cell);
    if ("code" in cell) return this.#code(cell.code);
    const { about, limits } = cell;
    const blocks = readMarkdown(about);
    const [first] = blocks;
    const text =
      blocks.length === 1 && first?.kind === "paragraph" ? spans(first.spans) : prose(about);
    const rest = limits === "" ? "" : `<span class="limits">${escaped(limits)}</span>`;
    return [text, rest].filter(Boolean).join(" ");
  }

  #code(text: string): string {
    return text === "" ? "" : `<code>${this.#linked(text)}</code>`;
  }

  /** Links the names of types; strings and names of members stay as they are. */
  #linked(text: string): string {
    return text.replaceAll(tokens, (token) =>
      this.#types.has(token)
        ? `<a href="#type-${escaped(token)}">${escaped(token)}</a>`
        : escaped(token),
    );
  }
}

/** A string, a comment, a name that is not that of a member, or a single character. */
const tokens = /"(?:\\.|[^"\\])*"|\/\*[\s\S]*?\*\/|[A-Za-z_$][\w$]*(?![\w$])(?!\??:)|[\s\S]/g;

/** Markdown as HTML; every string in it is escaped. */
function prose(text: string | undefined): string {
  return text === undefined ? "" : readMarkdown(text).map(block).join("");
}

function block(of: MarkdownBlock): string {
  switch (of.kind) {
    case "code":
      return `<pre>${escaped(of.text)}</pre>\n`;
    case "list": {
      const tag = of.ordered ? "ol" : "ul";
      const items = of.items.map((item) => `<li>${spans(item)}</li>\n`);
      return `<${tag}>\n${items.join("")}</${tag}>\n`;
    }
    case "heading":
      return `<p><strong>${spans(of.spans)}</strong></p>\n`;
    default:
      return `<p>${spans(of.spans)}</p>\n`;
  }
}

const tags = { code: "code", strong: "strong", emphasis: "em" } as const;

function spans(of: readonly MarkdownSpan[]): string {
  return of
    .map((span) => {
      if (span.kind === "text") return escaped(span.text);
      if (span.kind === "link")
        return `<a href="${escaped(span.url)}" rel="noreferrer">${escaped(span.text)}</a>`;
      const tag = tags[span.kind];
      return `<${tag}>${escaped(span.text)}</${tag}>`;
    })
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return printableLines(text).replaceAll(/[&<>"']/g, (character) => entities[character] as string);
}
