import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";
import { root } from "../entries.ts";

const folder = mkdtempSync(join(tmpdir(), "callwire-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/**
 * A program of the tests as one file that Node runs; it contains the library from its current
 * sources.
 */
export function bundle(source: URL): string {
  const file = join(folder, basename(source.pathname).replace(/\.ts$/, ".mjs"));
  buildSync({
    entryPoints: [fileURLToPath(source)],
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    tsconfig: join(root, "tsconfig.json"),
    // CommonJS packages load Node's modules with require.
    banner: {
      js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);',
    },
    logLevel: "error",
  });
  return file;
}
