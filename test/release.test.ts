import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { nextVersion, releasedChangelog, withVersion } from "../scripts/release.mjs";
import { root } from "./entries.ts";

test.each([
  ["1.2.3", "patch", "1.2.4"],
  ["1.2.3", "minor", "1.3.0"],
  ["1.2.3", "major", "2.0.0"],
  ["0.1.0", "0.1.0", "0.1.0"],
  ["1.2.3", "2.0.0-beta.1", "2.0.0-beta.1"],
])("after %s, %s is %s", (current, wanted, next) => {
  expect(nextVersion(current, wanted)).toBe(next);
});

test("an invalid version is refused", () => {
  expect(() => nextVersion("1.2.3", "next")).toThrow("major, minor, patch or like 1.2.3");
});

test("entries of the changelog move under the version, and an empty one is refused", () => {
  const text = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- One.\n\n## [0.1.0] - 2026-01-01\n";
  expect(releasedChangelog(text, "0.2.0", "2026-11-18")).toBe(
    text.replace("## [Unreleased]\n", "## [Unreleased]\n\n## [0.2.0] - 2026-11-18\n"),
  );
  expect(() => releasedChangelog(text, "0.1.0", "2026-11-18")).toThrow("already has 0.1.0");
  const empty = text.replace("- One.\n", "");
  expect(() => releasedChangelog(empty, "0.2.0", "2026-11-18")).toThrow("nothing under Unreleased");
});

test("every file with the version gets the next one", async () => {
  const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  for (const file of ["package.json", "package-lock.json", "src/observability/version.ts"]) {
    const text = await readFile(join(root, file), "utf8");
    const changed = withVersion(file, text, version, "9.8.7");
    const count = file === "package-lock.json" ? 2 : 1;
    expect(changed.split("9.8.7"), file).toHaveLength(count + 1);
    expect(withVersion(file, changed, "9.8.7", version)).toBe(text);
    expect(() => withVersion(file, text, "9.8.7", "1.0.0")).toThrow("does not have the version");
  }
});
