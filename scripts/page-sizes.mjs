// How much a page loads of a client, as Vite bundles it: for scripts/compare.mjs and test/dist.test.ts.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { build } from "vite";

/**
 * Bytes of the files that a page loads before it makes a call, and once it has connected. They are compressed one by
 * one, as servers do.
 * @param {string} root
 * @param {string} entry
 */
export async function pageSizes(root, entry) {
  const built = await build({
    configFile: false,
    root,
    logLevel: "silent",
    define: { "process.argv": "[]" },
    plugins: [inFunction(entry)],
    build: {
      write: false,
      modulePreload: false,
      target: "es2022",
      rollupOptions: { input: entry, output: { format: "es" } },
    },
  });
  if (!("output" in built)) throw new Error("Vite made more than one bundle");
  const chunks = built.output.flatMap((output) => (output.type === "chunk" ? [output] : []));
  const loaded = new Set();
  const load = (/** @type {string} */ path) => {
    if (loaded.has(path)) return;
    loaded.add(path);
    for (const own of chunks.find(({ fileName }) => fileName === path)?.imports ?? []) load(own);
  };
  const bytes = () =>
    chunks
      .filter(({ fileName }) => loaded.has(fileName))
      .reduce((sum, { code }) => sum + gzipSync(code, { level: 9 }).length, 0);
  for (const { isEntry, fileName } of chunks) if (isEntry) load(fileName);
  const before = bytes();
  for (const { moduleIds, fileName } of chunks) {
    if (moduleIds.some((id) => id.endsWith("/native-connection.js"))) load(fileName);
  }
  return { before, connected: bytes() };
}

/**
 * Bytes of the one file that a bundler makes of a client if it does not split code.
 * @param {string} entry
 */
export async function oneFileSize(entry) {
  const { outputFiles } = await esbuild.build({
    stdin: { contents: readFileSync(entry, "utf8"), resolveDir: dirname(entry), loader: "ts" },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return outputFiles.reduce(
    (sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length,
    0,
  );
}

/**
 * Puts the statements of the entry into a function. Few pages have a top-level await, which makes bundlers put shared
 * code into many small files.
 * @param {string} entry
 * @returns {import("vite").Plugin}
 */
function inFunction(entry) {
  return {
    name: "in-function",
    enforce: "pre",
    transform(code, id) {
      if (id !== entry) return null;
      const lastImport = code.lastIndexOf("\nimport ") + 1;
      const body = code.indexOf("\n", code.indexOf(' from "', lastImport));
      return `${code.slice(0, body)}\nvoid (async () => {${code.slice(body)}})();`;
    },
  };
}
