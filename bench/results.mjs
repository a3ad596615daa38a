/** The folder of results: one JSON with everything, the tables as Markdown, the plot. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { suiteNames } from "./options.mjs";

export function resultsFolder(out) {
  return out === undefined ? fileURLToPath(new URL("results", import.meta.url)) : resolve(out);
}

/** The new measurements, and for the other suites those of earlier runs; all tables show the same digits. */
export function readResults(folder, measured) {
  const earlier = new Map(earlierSuites(folder).map((suite) => [suite.name, suite]));
  const suites = suiteNames.map((name) => measured.get(name) ?? earlier.get(name));
  return suites.filter(Boolean).map(rounded);
}

export function writeResults(folder, { suites, markdown, plot }) {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "results.json"), `${JSON.stringify({ suites }, null, 2)}\n`);
  writeFileSync(join(folder, "results.md"), markdown);
  writeFileSync(join(folder, "plot.svg"), plot);
}

function earlierSuites(folder) {
  try {
    return JSON.parse(readFileSync(join(folder, "results.json"), "utf8")).suites;
  } catch (error) {
    if (error.code === "ENOENT") return [];
    throw error;
  }
}

/** Four digits are more than the measurement has, and keep the diffs short. */
function rounded(value) {
  if (typeof value === "number") return Number(value.toPrecision(4));
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, rounded(item)]));
}
