import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { withFigures } from "../../scripts/reliability.mjs";
import { root } from "../entries.ts";
import { faults } from "../faults/matrix.ts";
import { type Guarantee, guarantees } from "./guarantees.ts";
import { testTitles } from "./test-titles.ts";

const page = readFileSync(`${root}docs/reliability.md`, "utf8");
const promise = /\b(never|always|every|at most)\b/gi;

/**
 * The text of a page outside of its programs, line by line; a promise that continues on the next
 * line belongs to the first.
 */
function prose(file: string): string[] {
  const text = readFileSync(`${root}docs/${file}`, "utf8").replace(/^```.*?^```$/gms, "");
  return text.replace(/\b(at)\s+(most)\b/gi, "$1 $2").split("\n");
}

/** Each promise of a line: its first and last character. */
function promisesIn(line: string): [number, number][] {
  return [...line.matchAll(promise)].map(({ 0: text, index }) => [index, index + text.length]);
}

/** Whether an entry quotes these characters of a line. */
function quotes({ says }: Guarantee, line: string, [first, end]: [number, number]): boolean {
  for (let at = line.indexOf(says); at !== -1; at = line.indexOf(says, at + 1)) {
    if (at <= first && at + says.length >= end) return true;
  }
  return false;
}

/** The titles of each file that was read. */
const titlesIn = new Map<string, readonly string[]>();

/** Whether exactly one test, or suite, of the file has these words in its title. */
function isEnforced([file, title]: readonly [string, string]): boolean {
  const path = `${root}test/${file}`;
  if (title === "" || !existsSync(path)) return false;
  // Its tests are made from the lists of faults and wires.
  if (file === "faults/faults.test.ts") return faults.some((fault) => fault === title);
  const titles = titlesIn.get(path) ?? testTitles(path);
  titlesIn.set(path, titles);
  return titles.filter((each) => each.includes(title)).length === 1;
}

describe("what the docs guarantee", () => {
  test.each(Object.entries(guarantees))("%s names a test for each promise", (file, entries) => {
    const promises = prose(file).flatMap((line) =>
      promisesIn(line).map((place) => ({ line, place })),
    );
    const unnamed = promises.filter(
      ({ line, place }) => !entries.some((entry) => quotes(entry, line, place)),
    );
    expect(unnamed).toEqual([]);
    // An entry for two lines would be so vague that it also matched the next one.
    const vague = entries.filter((entry) => {
      const quoted = promises.filter(({ line, place }) => quotes(entry, line, place));
      return new Set(quoted.map(({ line }) => line)).size !== 1;
    });
    expect(vague).toEqual([]);
  });

  test("is looked at on all pages", () => {
    // The page about reliability has a table of its own.
    const pages = readdirSync(`${root}docs`).filter((file) => file.endsWith(".md"));
    const others = pages.filter((file) => file !== "reliability.md" && !(file in guarantees));
    expect(others.filter((file) => prose(file).flatMap(promisesIn).length > 0)).toEqual([]);
  });

  test("names each test by words that no other test of its file has", () => {
    const named = Object.values(guarantees).flat();
    const wrong = named.filter(
      ({ test, because }: Guarantee) =>
        because === undefined && (test === undefined || !isEnforced(test)),
    );
    expect(wrong).toEqual([]);
  });

  test("is listed in docs/reliability.md, each with its test", () => {
    const [, list = ""] = /<!-- guarantees -->(.*?)<!-- \/guarantees -->/s.exec(page) ?? [];
    const rows = list
      .split("\n")
      .filter((line) => /^\| [^-]/.test(line))
      .slice(1);
    expect(rows.length).toBeGreaterThan(10);
    const wrong = rows.filter((row) => {
      const named = [...row.matchAll(/\[([^\]]+)\]\(\.\.\/test\/([^)]+)\)/g)];
      return (
        named.length === 0 || !named.every(([, title = "", file = ""]) => isEnforced([file, title]))
      );
    });
    expect(wrong).toEqual([]);
  });
});

test("docs/reliability.md shows the figures that were kept", () => {
  const bare = (text: string) => text.replace(/ +/g, " ").replace(/-{3,}/g, "---");
  expect(bare(page)).toBe(bare(withFigures(page)));
});
