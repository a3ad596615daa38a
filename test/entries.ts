/** The public names of the package and the source files behind them, read from package.json. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Target = string | { readonly [condition: string]: Target };

interface Manifest {
  readonly name: string;
  readonly exports: Readonly<Record<string, Target>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

export const root: string = fileURLToPath(new URL("..", import.meta.url));

export const manifest: Manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

export interface Entry {
  /** What a program imports: `callwire/http`. */
  readonly specifier: string;
  /** The source that Node gets, relative to the root. */
  readonly source: string;
  /** The sources that some runtime gets, relative to the root. */
  readonly sources: readonly string[];
}

export const entries: readonly Entry[] = Object.entries(manifest.exports)
  .filter(([subpath]) => !subpath.endsWith(".json"))
  .map(([subpath, target]) => ({
    specifier: manifest.name + subpath.slice(1),
    source: sourceOf(resolveTarget(target, ["node", "import", "default"])),
    sources: [...new Set(scripts(target).map(sourceOf))],
  }));

/** Follows conditions in the order in which they are written, as Node does. */
export function resolveTarget(target: Target, conditions: readonly string[]): string {
  if (typeof target === "string") return target;
  const condition = Object.keys(target).find((key) => conditions.includes(key));
  if (condition === undefined) throw new Error(`No target for ${conditions.join(", ")}`);
  return resolveTarget(target[condition] as Target, conditions);
}

function scripts(target: Target): string[] {
  if (typeof target === "string") return target.endsWith(".js") ? [target] : [];
  return Object.values(target).flatMap(scripts);
}

function sourceOf(built: string): string {
  return built.replace(/^\.\/dist\/(node\/)?/, "src/").replace(/\.js$/, ".ts");
}
