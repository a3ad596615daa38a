/** What some tests need beside npm install; `scripts/fetch-peers.mjs` fetches it and says where it is. */
import { existsSync, readFileSync } from "node:fs";
import { describe } from "vitest";
import { root } from "./entries.ts";

type Found = { readonly path: string } | { readonly missing: string };

const file = `${root}.cache/services.json`;
const table: Readonly<Record<string, Found>> = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8"))
  : {};

/** Where a service is, or why it is not there. Where CI=true, one that is not there is a failure. */
export function requireService(name: string): Found {
  const found = table[name] ?? { missing: "run node scripts/fetch-peers.mjs" };
  const gone = "path" in found && !existsSync(found.path);
  const answer = gone ? { missing: `${found.path} is gone` } : found;
  if ("missing" in answer && process.env.CI === "true") {
    throw new Error(`${name} is missing: ${answer.missing}`);
  }
  return answer;
}

/** The path of a service, for tests that run only where it is. */
export function pathOf(name: string): string {
  const found = requireService(name);
  if ("missing" in found) throw new Error(`${name} is missing: ${found.missing}`);
  return found.path;
}

/** A suite that needs services; where one is missing, its tests are skipped and its title says why. */
export function describeWith(names: readonly string[], title: string, tests: () => void): void {
  const reasons = names.flatMap((name) => {
    const found = requireService(name);
    return "missing" in found ? [`${name}: ${found.missing}`] : [];
  });
  if (reasons.length === 0) describe(title, tests);
  else describe.skipIf(true)(`${title} [without ${reasons.join("; ")}]`, tests);
}
