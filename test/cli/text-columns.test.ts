import { expect, test } from "vitest";
import { Terminal } from "../../src/cli/terminal.ts";
import { columns, showColumns, wrapped } from "../../src/cli/text-columns.ts";

const rows = [
  ["--port <number>", "HTTP and WebSocket port; 0 picks any (default 8000)"],
  ["--unix <path>", "also serve on this unix socket"],
] as const;

test("in a narrow terminal descriptions are below the options, and words are not broken", () => {
  expect(columns(rows, 40)).toEqual([
    "  --port <number>",
    "      HTTP and WebSocket port; 0 picks",
    "      any (default 8000)",
    "  --unix <path>",
    "      also serve on this unix socket",
  ]);
});

test("with enough room they are side by side", () => {
  expect(columns(rows, 60)).toEqual([
    "  --port <number>  HTTP and WebSocket port; 0 picks any",
    "                   (default 8000)",
    "  --unix <path>    also serve on this unix socket",
  ]);
});

test("they fit a terminal, and are one line per row for programs", () => {
  const shown = (stream: object): string[] => {
    const lines: string[] = [];
    const write = (text: string) => lines.push(text);
    const terminal = new Terminal({ ...stream, write } as never);
    const paint = (text: string) => text.toUpperCase();
    const methods = [
      ["math/sqrt", "Take the square root of a number"],
      ["echo", ""],
    ] as const;
    showColumns(methods, terminal, { paint, indent: "" });
    return lines;
  };
  expect(shown({ isTTY: true, hasColors: () => false, columns: 38 })).toEqual([
    "MATH/SQRT  Take the square root of a\n",
    "           number\n",
    "ECHO\n",
  ]);
  expect(shown({})).toEqual(["MATH/SQRT  Take the square root of a number\n", "ECHO\n"]);
});

test("a word that is longer than a line stays whole", () => {
  expect(wrapped("see https://example.com/a/long/path now", "  ", 12)).toEqual([
    "see",
    "  https://example.com/a/long/path",
    "  now",
  ]);
});
