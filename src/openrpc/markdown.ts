import { linesOf } from "./generated-code.ts";
import {
  type MethodReference,
  type ReferenceCell,
  type ReferenceTable,
  referenceOf,
} from "./reference.ts";

/**
 * Writes a Markdown reference of the methods in a document.
 * @example
 * ```ts
 * import { writeFile } from "node:fs/promises";
 * import { markdownReference, openrpcDocument } from "callwire/openrpc";
 *
 * const document = openrpcDocument(methods, { title: "Calculator", version: "1.0.0" });
 * await writeFile("REFERENCE.md", markdownReference(document));
 * ```
 */
export function markdownReference(document: unknown): string {
  const { document: read, methods, types } = referenceOf(document);
  const { info, servers = [] } = read;
  const version = info.version === "" ? [] : [`Version ${line(info.version)}`];
  const sections = [
    `# ${line(info.title)}`,
    ...version,
    ...(info.description === undefined ? [] : [prose(info.description)]),
    ...(servers.length === 0
      ? []
      : [
          servers
            .map(({ url, name }) => `- ${code(url)}${name === undefined ? "" : ` ${line(name)}`}`)
            .join("\n"),
        ]),
    "## Methods",
    table(
      ["Method", ""],
      methods.map(({ method }) => [code(method.name), line(method.summary ?? "")]),
    ),
    ...methods.flatMap(methodSection),
    ...(types.length === 0
      ? []
      : ["## Types", fenced(types.map(({ text }) => text).join("\n\n"), "ts")]),
  ];
  return `${sections.join("\n\n")}\n`;
}

function methodSection({
  method,
  remarks,
  params,
  carried,
  errors,
  examples,
}: MethodReference): string[] {
  return [
    `### ${code(method.name)}`,
    ...[method.summary, method.description].filter((text) => text !== undefined).map(prose),
    ...(remarks.length === 0 ? [] : [`*${remarks.map(line).join(", ")}*`]),
    ...referenceTable(params),
    ...carried.map(([label, type]) => `${label}: ${code(type)}`),
    ...referenceTable(errors),
    ...examples.flatMap(({ name, lines }) => [
      `Example: ${line(name)}`,
      fenced(lines.join("\n"), ""),
    ]),
  ];
}

function referenceTable({ head, rows }: ReferenceTable): string[] {
  const cell = (of: ReferenceCell): string => {
    if (typeof of === "string") return line(of);
    if ("code" in of) return code(of.code);
    return [line(of.about), code(of.limits)].filter(Boolean).join(" ");
  };
  const cells = rows.map((row) => row.map(cell));
  return cells.length === 0 ? [] : [table(head, cells)];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
}

/** Descriptions may be Markdown; HTML in them is escaped. */
function prose(text: string): string {
  return linesOf(text).join("\n").replaceAll("&", "&amp;").replaceAll("<", "&lt;").trim();
}

function line(text: string): string {
  return prose(linesOf(text).join(" "));
}

/** Uses more backticks than any run of them in the text. */
function code(text: string): string {
  if (text.trim() === "") return "";
  const inner = linesOf(text).join(" ").replaceAll(/\s+/g, " ");
  const fence = longest(inner, 1);
  return inner.includes("`") ? `${fence} ${inner} ${fence}` : `${fence}${inner}${fence}`;
}

function fenced(text: string, language: string): string {
  const fence = longest(text, 3);
  return `${fence}${language}\n${text}\n${fence}`;
}

function longest(text: string, least: number): string {
  const runs = text.match(/`+/g) ?? [];
  return "`".repeat(runs.reduce((most, run) => Math.max(most, run.length + 1), least));
}
