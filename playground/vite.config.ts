import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

type Target = string | { readonly [condition: string]: Target };

const root = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as {
  exports: Record<string, Target>;
};

/** The sources behind the public names, as a browser gets them; so the build needs no earlier build. */
const alias = Object.entries(manifest.exports)
  .filter(([subpath]) => !subpath.endsWith(".json"))
  .map(([subpath, target]) => ({
    find: new RegExp(`^callwire${subpath.slice(1)}$`),
    replacement: sourceOf(fileFor(target)),
  }));

function fileFor(target: Target): string {
  if (typeof target === "string") return target;
  const found = target.browser ?? target.default;
  if (found === undefined) throw new Error("an entry without a file for browsers");
  return fileFor(found);
}

function sourceOf(built: string): string {
  return built.replace(/^\.\/dist\//, `${root}src/`).replace(/\.js$/, ".ts");
}

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Relative, so that the page works below any path.
  base: "./",
  resolve: { alias },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    target: "es2022",
    // The first with light-dark(), by which the style sheet has two themes.
    cssTarget: ["chrome123", "firefox120", "safari17.5"],
    emptyOutDir: true,
    // Files of their own, and no script of Vite's: the policy of the page allows nothing inline.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1_000,
  },
});
