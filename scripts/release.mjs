// Prepares a release: `npm run release -- minor`, or with --dry-run only says what it would do.
//
// It checks the tree, the changelog and that `npm run test:full` passed for this very tree, sets the
// version, commits, tags and packs. It never pushes or publishes; it prints the commands for that.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { scriptOptions } from "./script-options.mjs";

const files = ["package.json", "package-lock.json", "src/observability/version.ts", "CHANGELOG.md"];

/** Where `npm run test:full` notes the tree that passed. */
export const passedFile = join(".cache", "test-full.json");

/**
 * The version after this one.
 * @param {string} current
 * @param {string} wanted major, minor, patch or a version
 */
export function nextVersion(current, wanted) {
  if (/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(wanted)) return wanted;
  const [major = 0, minor = 0, patch = 0] = current.split(/[.-]/).map(Number);
  if (wanted === "major") return `${major + 1}.0.0`;
  if (wanted === "minor") return `${major}.${minor + 1}.0`;
  if (wanted === "patch") return `${major}.${minor}.${patch + 1}`;
  throw new Error(`the version must be major, minor, patch or like 1.2.3, not "${wanted}"`);
}

/**
 * The changelog with what is unreleased under the version.
 * @param {string} text
 * @param {string} version
 * @param {string} date
 */
export function releasedChangelog(text, version, date) {
  const heading = "## [Unreleased]\n";
  const [before, after] = text.split(heading);
  if (after === undefined) throw new Error('CHANGELOG.md has no "## [Unreleased]"');
  const [entries = ""] = after.split(/^## /m);
  if (!/^- /m.test(entries)) throw new Error("CHANGELOG.md has nothing under Unreleased");
  if (text.includes(`## [${version}]`)) throw new Error(`CHANGELOG.md already has ${version}`);
  return `${before}${heading}\n## [${version}] - ${date}\n${after}`;
}

/**
 * The text with this version instead of the other, as often as expected.
 * @param {string} file
 * @param {string} text
 * @param {string} from
 * @param {string} to
 */
export function withVersion(file, text, from, to) {
  // A lockfile has the version of the package twice, at its top.
  const count = file === "package-lock.json" ? 2 : 1;
  const pattern = file.endsWith(".ts") ? `version = "${from}"` : `"version": "${from}"`;
  const parts = text.split(pattern);
  if (parts.length <= count) throw new Error(`${file} does not have the version ${from}`);
  const changed = parts.slice(0, count + 1).join(pattern.replace(from, to));
  return [changed, ...parts.slice(count + 1)].join(pattern);
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, ...args) {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}

/** Why there can be no release now. */
function faults() {
  const changed = run("git", "status", "--porcelain").trim();
  const passed = existsSync(passedFile) ? JSON.parse(readFileSync(passedFile, "utf8")).tree : "";
  return [
    ...(changed === "" ? [] : [`the tree has changes that are not committed:\n${changed}`]),
    ...(passed === run("git", "rev-parse", "HEAD^{tree}").trim()
      ? []
      : ["npm run test:full has not passed for this tree; run it first"]),
  ];
}

function main() {
  const { values, positionals } = scriptOptions(import.meta.url, {
    options: { "dry-run": { type: "boolean", default: false } },
    allowPositionals: true,
  });
  const isDry = values["dry-run"];
  const { version: current } = JSON.parse(readFileSync("package.json", "utf8"));
  const isTagged = (/** @type {string} */ version) =>
    run("git", "tag", "--list", `v${version}`).trim() !== "";
  // The first release has the version that the package has.
  const [wanted = isTagged(current) ? "" : current] = positionals;
  const version = nextVersion(current, wanted);
  const found = faults();
  if (isTagged(version)) found.push(`the tag v${version} exists`);
  const date = new Date().toISOString().slice(0, 10);
  const changelog = releasedChangelog(readFileSync("CHANGELOG.md", "utf8"), version, date);
  for (const fault of found) console.error(`not ready: ${fault}`);
  if (found.length > 0 && !isDry) return 1;

  console.log(`release ${version}, after ${current}`);
  const texts = files.map((file) => {
    if (file === "CHANGELOG.md") return changelog;
    return withVersion(file, readFileSync(file, "utf8"), current, version);
  });
  if (!isDry) {
    files.forEach((file, i) => {
      writeFileSync(file, texts[i] ?? "");
    });
    run("git", "commit", "--quiet", "--message", `Release ${version}`, "--", ...files);
    run("git", "tag", "--annotate", `v${version}`, "--message", `callwire ${version}`);
    // The version is part of the package.
    run(process.execPath, "scripts/build.mjs");
  }
  const options = [
    "--json",
    "--loglevel=error",
    "--ignore-scripts",
    ...(isDry ? ["--dry-run"] : []),
  ];
  const [packed] = JSON.parse(run("npm", "pack", ...options));
  const name = packed.filename.replace(current, version);
  const size = `${(packed.size / 1024).toFixed(0)} kB, ${packed.entryCount} files`;
  console.log(`${isDry ? "would change" : "changed"} ${files.join(", ")}`);
  console.log(`${isDry ? "would commit and tag" : "committed and tagged"} v${version}`);
  console.log(`${isDry ? "would pack" : "packed"} ${name} (${size})`);
  console.log(`next: git push --follow-tags && npm publish ${name}`);
  return found.length > 0 ? 1 : 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    process.exitCode = main();
  } catch (error) {
    console.error(`not ready: ${/** @type {Error} */ (error).message}`);
    process.exitCode = 1;
  }
}
