import { fileURLToPath } from "node:url";
import { build } from "esbuild";

/**
 * Imports a TypeScript module with everything that it uses, since Node 20 does not run TypeScript.
 * @param {URL} source
 * @returns {Promise<any>}
 */
export async function loadTypeScript(source) {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(source)],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
  });
  const [{ text }] = /** @type {[{ text: string }]} */ (/** @type {unknown} */ (outputFiles));
  return import(`data:text/javascript;base64,${Buffer.from(text).toString("base64")}`);
}
