// Bundles the command line with what only it needs: the demo methods and their schema library.
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { licencesOf } from "./licences.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const entry = join(root, "src", "cli", "main.ts");
const { dependencies, peerDependencies } = JSON.parse(
  readFileSync(join(root, "package.json"), "utf8"),
);

/**
 * Writes main.js, executable, what it loads, and the licences of the packages inside it.
 * @param {string} outDir
 */
export async function bundleCli(outDir) {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outdir: outDir,
    // Each command is a file of its own, read when it is asked for.
    splitting: true,
    chunkNames: "[name]-[hash]",
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // The package finds itself by name at run time, so one copy of its classes exists.
    external: ["callwire", "callwire/*", ...Object.keys({ ...dependencies, ...peerDependencies })],
    charset: "utf8",
    minifySyntax: true,
    minifyWhitespace: true,
    metafile: true,
    logLevel: "warning",
  });
  const inputs = Object.keys(metafile.inputs);
  const strays = inputs.filter((path) => path.startsWith("src/") && !path.startsWith("src/cli/"));
  if (strays.length > 0) {
    throw new Error(`src/cli must import "callwire", not its files: ${strays.join(", ")}`);
  }
  chmodSync(join(outDir, "main.js"), 0o755);
  writeFileSync(join(outDir, "LICENSES.txt"), licencesOf(inputs, root));
}
