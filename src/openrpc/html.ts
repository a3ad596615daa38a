import { printableLines } from "../protocol/printable.ts";
import {
  type MethodReference,
  type ReferenceCell,
  type ReferenceTable,
  referenceOf,
} from "./reference.ts";

const style = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --soft: light-dark(#f5f5f5, #222); }
body { font: 16px/1.5 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 2rem 1rem; }
code, pre { font: 14px/1.5 ui-monospace, monospace; }
pre { background: var(--soft); overflow-x: auto; padding: 0.75rem; }
table { border-collapse: collapse; margin: 0.75rem 0; width: 100%; }
th, td { border-bottom: 1px solid var(--line); padding: 0.25rem 0.75rem 0.25rem 0; text-align: left; vertical-align: top; }
section { border-top: 1px solid var(--line); margin-top: 2rem; }
p { white-space: pre-line; }
.remarks { opacity: 0.75; }
`;

/**
 * Writes an HTML reference of the methods in a document: one file without scripts or external resources.
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
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(info.title)}</title>
<style>${style}</style>
</head>
<body>
<h1>${escaped(info.title)} <small>${escaped(info.version)}</small></h1>
${paragraph(info.description)}${servers.map(({ url, name = "" }) => `<p><code>${escaped(url)}</code> ${escaped(name)}</p>\n`).join("")}<nav>
${table(
  ["Method", ""],
  methods.map(({ method }, i) => [
    `<a href="#method-${i + 1}"><code>${escaped(method.name)}</code></a>`,
    escaped(method.summary ?? ""),
  ]),
)}</nav>
<main>
${methods.map(methodSection).join("")}${types.length === 0 ? "" : `<section>\n<h2>Types</h2>\n<pre>${escaped(types.join("\n\n"))}</pre>\n</section>\n`}</main>
</body>
</html>
`;
}

function methodSection(reference: MethodReference, index: number): string {
  const { method, remarks, params, result, errors, examples } = reference;
  const [label, type] = result;
  return `<section id="method-${index + 1}">
<h2><code>${escaped(method.name)}</code></h2>
${paragraph(method.summary)}${paragraph(method.description)}${
  remarks.length === 0 ? "" : `<p class="remarks">${escaped(remarks.join(", "))}</p>\n`
}${referenceTable(params)}<p>${label}: ${code(type)}</p>
${referenceTable(errors)}${examples.map(({ name, lines }) => `<p>Example: ${escaped(name)}</p>\n<pre>${escaped(lines.join("\n"))}</pre>\n`).join("")}</section>
`;
}

function referenceTable({ head, rows }: ReferenceTable): string {
  if (rows.length === 0) return "";
  const cell = (of: ReferenceCell): string =>
    typeof of === "string" ? escaped(of) : code(of.code);
  return table(
    head,
    rows.map((cells) => cells.map(cell)),
  );
}

/** The cells must already be HTML. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${cell}</${tag}>`).join("")}</tr>\n`;
  return `<table>\n<thead>${row(head, "th")}</thead>\n<tbody>\n${rows.map((cells) => row(cells, "td")).join("")}</tbody>\n</table>\n`;
}

function paragraph(text: string | undefined): string {
  return text === undefined ? "" : `<p>${escaped(text)}</p>\n`;
}

function code(text: string): string {
  return text === "" ? "" : `<code>${escaped(text)}</code>`;
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
