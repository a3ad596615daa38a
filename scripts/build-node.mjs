// Bundles the entries of the package for Node, Bun and Deno: to load a hundred small files takes several times as long
// as to run them. Bundlers get the files that tsc writes, because they can leave out more of these.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { importsOf } from "./bundle-files.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = (/** @type {string} */ path) => join(root, "src", `${path}.ts`);
/** Nearly every program loads what these import. */
const core = ["index", "connection/index", "transports/http/index"].map(source);

/** @param {string} outDir */
export async function bundleForNode(outDir) {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(bundled(exports).map((path) => [path, source(path)])),
    platform: "node",
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
    transform: { target: "es2023" },
    tsconfig: join(root, "tsconfig.build.json"),
  });
  await bundle.write({
    dir: outDir,
    chunkFileNames: "chunks/[name].js",
    // They are in the sources, which the package holds too.
    comments: { annotation: true, jsdoc: false, legal: true },
    codeSplitting: { groups: [importsOf("core", core)] },
  });
  await bundle.close();
}

/**
 * The files of dist/node that package.json names, without folder and extension.
 * @param {unknown} target
 * @returns {string[]}
 */
function bundled(target) {
  if (typeof target === "object" && target !== null) {
    return [...new Set(Object.values(target).flatMap(bundled))];
  }
  const [, path] = /^\.\/dist\/node\/(.*)\.js$/.exec(String(target)) ?? [];
  return path === undefined ? [] : [path];
}
