import { relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

/** Where this package is, which is not what users look for. */
const own = resolve(import.meta.dirname, "..") + sep;

/** The file and line of the user's own that an error comes from; undefined where its stack has none. */
export function placeOf(thrown: unknown): string | undefined {
  const stack = thrown instanceof Error ? (thrown.stack ?? "") : "";
  for (const [, at = "", line] of stack.matchAll(/^ +at (?:.*\()?(.+?):(\d+):\d+\)?$/gm)) {
    const file = pathOf(at.replace(/^async /, ""));
    if (file === undefined || file.startsWith(own)) continue;
    if (file.split(sep).includes("node_modules")) continue;
    return `${relative(process.cwd(), file)}:${line}`;
  }
  return undefined;
}

/** Frames name a file by its path or its URL; those of Node itself and of `eval` name none. */
function pathOf(place: string): string | undefined {
  if (place.startsWith("file:")) return fileURLToPath(place.replace(/\?.*$/, ""));
  return resolve(place) === place ? place : undefined;
}
