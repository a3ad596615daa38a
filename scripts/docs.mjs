// The docs as a site: `npm run docs` serves it while you write, `npm run docs:build` builds it into
// docs/.vitepress/dist and fails on dead links. Both install what they need into docs/ first.
import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { scriptOptions } from "./script-options.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const docs = join(root, "docs");
const { positionals } = scriptOptions(import.meta.url, { allowPositionals: true, options: {} });
const [task = "dev"] = positionals;

if (changed("package-lock.json") > changed("node_modules/.package-lock.json")) {
  console.log("Installing VitePress and TypeDoc …");
  // Not "npm ci": it requires packages for other platforms, which some registries lack.
  run("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"]);
}
console.log("Reading the doc comments …");
run(process.execPath, ["node_modules/typedoc/bin/typedoc", ...entryPoints()]);
run(process.execPath, ["node_modules/vitepress/bin/vitepress.js", task]);

/** The sources of the public entries; of two forms, the one that Node gets, which has all names. */
function entryPoints() {
  const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const files = Object.entries(exports).flatMap(([name, target]) => {
    if (name === "./package.json") return [];
    const { types } = target.node?.types === undefined ? target : target.node;
    return [join("..", types.replace("./dist", "src").replace(".d.ts", ".ts"))];
  });
  // Two names may lead to one file.
  return [...new Set(files)].flatMap((file) => ["--entryPoints", file]);
}

/** @param {string} file */
function changed(file) {
  return statSync(join(docs, file), { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args) {
  const shell = process.platform === "win32" && command === "npm";
  const { status, error } = spawnSync(command, args, { cwd: docs, stdio: "inherit", shell });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}
