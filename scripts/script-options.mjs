// The options of a script.
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/**
 * Like `parseArgs`. `--help` prints the comment at the start of the script, and a wrong option is reported in one line.
 * @template {import("node:util").ParseArgsConfig} T
 * @param {string} script its URL
 * @param {T} config
 * @returns {ReturnType<typeof parseArgs<T>>}
 */
export function scriptOptions(script, config) {
  if (process.argv.includes("--help")) {
    const text = readFileSync(new URL(script), "utf8");
    const [comment = ""] = /^(?:\/\/.*\n)+|^\/\*\*[\s\S]*?\*\/\n/.exec(text) ?? [];
    const lines = comment.split("\n").map((line) => line.replace(/^(?:\/\/| \*\/?|\/\*\*) ?/, ""));
    console.log(lines.join("\n").trim());
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}; see --help`);
    process.exit(2);
  }
}
