import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { withFigures } from "../../scripts/reliability.mjs";
import { root } from "../entries.ts";
import { type Guarantee, guarantees } from "./guarantees.ts";

const page = readFileSync(`${root}docs/reliability.md`, "utf8");
const promise = /\b(never|always|every|at most)\b/i;

/** Lines of a page outside of its programs. */
function prose(file: string): string[] {
  const text = readFileSync(`${root}docs/${file}`, "utf8").replace(/^```.*?^```$/gms, "");
  return text.split("\n");
}

function isEnforced([file, title]: readonly [string, string]): boolean {
  const path = `${root}test/${file}`;
  return title !== "" && existsSync(path) && readFileSync(path, "utf8").includes(title);
}

describe("what the docs guarantee", () => {
  test.each(Object.entries(guarantees))("%s names a test for each promise", (file, entries) => {
    const lines = prose(file).filter((line) => promise.test(line));
    const unnamed = lines.filter((line) => !entries.some(({ says }) => line.includes(says)));
    expect(unnamed).toEqual([]);
    const gone = entries.filter(({ says }) => !lines.some((line) => line.includes(says)));
    expect(gone).toEqual([]);
  });

  test("is looked at on all pages", () => {
    // The page about reliability has a table of its own.
    const pages = readdirSync(`${root}docs`).filter((file) => file.endsWith(".md"));
    const others = pages.filter((file) => file !== "reliability.md" && !(file in guarantees));
    expect(others.filter((file) => prose(file).some((line) => promise.test(line)))).toEqual([]);
  });

  test("names tests that exist", () => {
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
