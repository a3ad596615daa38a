/** The page, built by esbuild when the server starts. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

export interface PageFile {
  readonly type: string;
  readonly body: string;
}

/** Its files, by path. */
export async function buildPage(): Promise<ReadonlyMap<string, PageFile>> {
  const folder = fileURLToPath(new URL("page/", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [`${folder}main.tsx`],
    outdir: "/",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    target: "es2022",
    jsx: "automatic",
    // The tsconfig.json of this repository replaces the package by its sources.
    tsconfigRaw: {},
    define: { "process.env.NODE_ENV": '"production"' },
    write: false,
  });
  const html = await readFile(`${folder}index.html`, "utf8");
  return new Map([
    ...outputFiles.map(({ path, text }): [string, PageFile] => [
      path,
      { type: "text/javascript; charset=utf-8", body: text },
    ]),
    ...["/", "/short"].map((path): [string, PageFile] => [
      path,
      { type: "text/html; charset=utf-8", body: html },
    ]),
  ]);
}
