import { widest, wrapped } from "./text-columns.ts";

/** Names of tables, by their first column. */
const titles: Readonly<Record<string, string>> = { Param: "Params", Code: "Errors" };

/** The Markdown of a reference as people read it on a terminal: tables as columns, code without marks. */
export function markdownText(markdown: string): string {
  const lines: string[] = [];
  let table: string[][] = [];
  let isCode = false;
  for (const line of [...markdown.trimEnd().split("\n"), ""]) {
    if (!isCode && line.startsWith("| ")) {
      table.push(cellsOf(line));
      continue;
    }
    lines.push(...tableLines(table));
    table = [];
    if (line.startsWith("```")) isCode = !isCode;
    else lines.push(isCode ? `  ${line}` : plain(line));
  }
  return lines.join("\n").replaceAll(/\n{3,}/g, "\n\n");
}

function cellsOf(row: string): string[] {
  const cells = row.split(/(?<!\\)\|/).slice(1, -1);
  return cells.map((cell) => plain(cell.trim().replaceAll("\\|", "|")));
}

/** Columns without content are left out. */
function tableLines([head = [], , ...rows]: readonly string[][]): string[] {
  if (rows.length === 0) return [];
  const required = head.indexOf("Required");
  const shown = rows.map((row) =>
    row.map((cell, i) => (i !== required ? cell : cell === "yes" ? "required" : "optional")),
  );
  const widths = head.map((_, i) => widest(shown.map((row) => row[i] ?? "")));
  const lines = shown.flatMap((row) => {
    const cells = row.flatMap((cell, i) => (widths[i] === 0 ? [] : [cell.padEnd(widths[i] ?? 0)]));
    return wrapped(`  ${cells.join("  ")}`.trimEnd(), "      ");
  });
  return [`${titles[head[0] ?? ""] ?? head[0]}:`, ...lines];
}

function plain(line: string): string {
  return line
    .replace(/^#+ /, "")
    .replace(/^\*(.*)\*$/, "$1")
    .replaceAll(/`([^`]*)`/g, "$1");
}
