import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { entries, manifest, resolveTarget, root } from "./entries.ts";

const sources = [...new Set(entries.flatMap((entry) => entry.sources))];

describe.each(sources)("%s", (source) => {
  test("exists", () => {
    expect(existsSync(join(root, source))).toBe(true);
  });

  test("opens with a sentence that says what the entry is", () => {
    const text = readFileSync(join(root, source), "utf8");
    const comment = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "";
    expect(comment).toMatch(/\w.*[.`)]\s[\s*]*@module/);
  });

  test("has named exports only", async () => {
    const names = Object.keys(await import(/* @vite-ignore */ join(root, source)));
    expect(names).not.toContain("default");
    expect(names).not.toHaveLength(0);
  });
});

test("Node gets every name of an entry that another runtime gets", async () => {
  for (const { specifier, source, sources } of entries) {
    const expected = Object.keys(await import(/* @vite-ignore */ join(root, source))).sort();
    for (const other of sources) {
      const names = Object.keys(await import(/* @vite-ignore */ join(root, other))).sort();
      expect(expected, `${specifier}: ${source} and ${other}`).toEqual(
        expect.arrayContaining(names),
      );
    }
  }
});

test("runtimes on servers load the bundles, and all else the files, so that each class exists once", () => {
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (subpath.endsWith(".json")) continue;
    for (const runtime of ["node", "bun", "deno"]) {
      const path = resolveTarget(target, [runtime, "node", "default"]);
      expect(path, `${subpath} on ${runtime}`).toMatch(/^\.\/dist\/node\//);
    }
    for (const runtime of ["browser", "workerd", "edge-light", "import"]) {
      const path = resolveTarget(target, [runtime, "default"]);
      expect(path, `${subpath} for ${runtime}`).not.toMatch(/^\.\/dist\/node\//);
    }
  }
});

test("the paths of tsconfig.json lead to the same files as the exports", () => {
  const text = readFileSync(join(root, "tsconfig.json"), "utf8").replace(/^\s*\/\/.*$/gm, "");
  const { paths } = JSON.parse(text).compilerOptions as { paths: Record<string, string[]> };
  for (const { specifier, source } of entries) {
    expect(resolvePath(paths, specifier), specifier).toBe(source);
  }
});

/** An exact name wins over a pattern, and the first candidate that exists over later ones. */
function resolvePath(paths: Record<string, string[]>, specifier: string): string | undefined {
  const exact = paths[specifier];
  const prefix = `${manifest.name}/`;
  const candidates =
    exact ?? paths[`${prefix}*`]?.map((path) => path.replace("*", specifier.slice(prefix.length)));
  return candidates?.find((path) => existsSync(join(root, path)))?.slice("./".length);
}

test("every entry that the documents name exists", () => {
  const known = new Set(entries.map(({ specifier }) => specifier).concat("callwire/package.json"));
  for (const file of documents()) {
    const text = readFileSync(join(root, file), "utf8");
    for (const [, name = ""] of text.matchAll(/["'`](callwire\/[\w./-]+)["'`]/g)) {
      expect(known, `${file} names ${name}`).toContain(name);
    }
  }
});

function documents(): string[] {
  const folders = [".", "docs"].filter((folder) => existsSync(join(root, folder)));
  return folders
    .flatMap((folder) => readdirSync(join(root, folder)).map((file) => join(folder, file)))
    .filter((file) => file.endsWith(".md"));
}
