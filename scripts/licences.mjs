// The licences of the packages that a bundle holds.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** @param {readonly string[]} files of the bundle, as paths from the working folder or from the root */
export function licencesOf(files, root = "") {
  const folders = new Set(
    files.flatMap((path) => path.match(/^.*node_modules\/(?:@[^/]+\/)?[^/]+/)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((path) => {
      const folder = join(root, path);
      const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
      if (file === undefined) throw new Error(`${path} is bundled but has no licence file`);
      const { name } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      return `${name}\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}
