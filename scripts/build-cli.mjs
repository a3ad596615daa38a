// Bundles the command line with what only it needs: the demo methods and their schema library.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { importsOf } from "./bundle-files.mjs";
import { licencesOf } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const source = (/** @type {string} */ path) => join(root, "src", "cli", `${path}.ts`);
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);
const installed = Object.keys({ ...dependencies, ...peerDependencies });

/**
 * Writes main.js, executable, what it loads, and the licences of the packages inside it.
 * @param {string} outDir
 */
export async function bundleCli(outDir) {
  const bundle = await rolldown({
    cwd: root,
    input: { main: source("main") },
    platform: "node",
    // The package finds itself by name at run time, so one copy of its classes exists.
    external: [/^node:/, ...["callwire", ...installed].map((name) => new RegExp(`^${name}(/|$)`))],
    transform: { target: "node20" },
    tsconfig: join(root, "tsconfig.json"),
  });
  const { output } = await bundle.write({
    dir: outDir,
    entryFileNames: "[name].js",
    // Each command is a file of its own, read when it is asked for.
    chunkFileNames: "[name]-[hash].js",
    codeSplitting: {
      groups: [
        importsOf("start", [source("main")]),
        importsOf("common", [source("commands/call")]),
      ],
    },
    minify: { mangle: false, compress: true, codegen: true },
  });
  await bundle.close();
  const inputs = output.flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []));
  const paths = inputs.filter((id) => id.startsWith(root)).map((id) => relative(root, id));
  const strays = paths.filter((path) => path.startsWith("src/") && !path.startsWith("src/cli/"));
  if (strays.length > 0) {
    throw new Error(`src/cli must import "callwire", not its files: ${strays.join(", ")}`);
  }
  chmodSync(join(outDir, "main.js"), 0o755);
  writeFileSync(join(outDir, "LICENSES.txt"), licencesOf(paths, root));
}
