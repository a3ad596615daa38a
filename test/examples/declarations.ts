/** Finds where the public names of the package are declared, and the doc comments there. */
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "../entries.ts";

export interface Declaration {
  readonly name: string;
  /** The file, relative to the root. */
  readonly file: string;
  /** Empty if there is no doc comment. */
  readonly comment: string;
}

/** Follows the exports of a source file to the declaration of a name; undefined if it has no such name. */
export function declarationOf(file: string, name: string): Declaration | undefined {
  const source = readFileSync(join(root, file), "utf8");
  const declared = new RegExp(
    `^(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/\\n)?export (?:declare |abstract |async )*` +
      `(?:function\\*?|class|const|interface|type) ${name}\\b`,
    "m",
  ).exec(source);
  if (declared !== null) return { name, file, comment: declared[1] ?? "" };
  for (const { from, original, exported } of exportsOf(source)) {
    if (exported === name) return declarationOf(join(dirname(file), from), original);
  }
  return undefined;
}

/** The names that a source file exports from other files, types included. */
export function exportsOf(
  source: string,
): { readonly from: string; readonly original: string; readonly exported: string }[] {
  return Array.from(source.matchAll(/^export (?:type )?\{([^}]*)\} from "(\..+?)";/gm)).flatMap(
    ([, names = "", from = ""]) =>
      names
        .split(",")
        .map((name) => name.trim().replace(/^type /, ""))
        .filter((name) => name !== "")
        .map((name) => {
          const [original = "", exported = original] = name.split(" as ");
          return { from, original, exported };
        }),
  );
}

/** The TypeScript programs in the `@example`s of a doc comment. */
export function examplesIn(comment: string): string[] {
  const text = comment.replaceAll(/^ *\*(?: |(?=\n))/gm, "");
  return Array.from(text.matchAll(/^@example\n```ts\n([\s\S]*?)^```$/gm), ([, code = ""]) => code);
}
