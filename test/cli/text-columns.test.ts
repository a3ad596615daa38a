import { expect, test } from "vitest";
import { columns, wrapped } from "../../src/cli/text-columns.ts";

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

test("a word that is longer than a line stays whole", () => {
  expect(wrapped("see https://example.com/a/long/path now", "  ", 12)).toEqual([
    "see",
    "  https://example.com/a/long/path",
    "  now",
  ]);
});
