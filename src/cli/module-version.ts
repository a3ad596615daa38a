import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** What a module has no package for, or whose package says nothing. */
const none = "0.0.0";

/** The version of the package that a module belongs to: that of the nearest package.json. */
export function moduleVersion(path: string): string {
  let folder = dirname(resolve(path));
  for (;;) {
    const text = textOf(join(folder, "package.json"));
    if (text !== undefined) return versionIn(text) ?? none;
    const above = dirname(folder);
    if (above === folder) return none;
    folder = above;
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}

function versionIn(text: string): string | undefined {
  try {
    const { version } = JSON.parse(text) as { version?: unknown };
    return typeof version === "string" ? version : undefined;
  } catch {
    return undefined;
  }
}
