/**
 * Requirements of some tests besides npm install; `scripts/fetch-peers.mjs` fetches them and says
 * where they are.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe } from "vitest";
import { root } from "./entries.ts";

type Found = { readonly path: string } | { readonly missing: string };

const file = `${root}.cache/services.json`;
const table: Readonly<Record<string, Found>> = existsSync(file)
  ? JSON.parse(readFileSync(file, "utf8"))
  : {};

/** Requirements that are permissions, not files; checked when first needed. */
const rights: Readonly<Record<string, () => Found>> = {
  bash: () => {
    const { stdout } = spawnSync("sh", ["-c", "command -v bash"], { encoding: "utf8" });
    return stdout === "" ? { missing: "it is not on the PATH" } : { path: stdout.trim() };
  },
  "network namespaces": () => {
    const ip = table.iproute2;
    if (ip === undefined || "missing" in ip) return { missing: "they need iproute2" };
    const name = `callwire-probe-${process.pid}`;
    const { status, stderr } = spawnSync(ip.path, ["netns", "add", name], { encoding: "utf8" });
    if (status !== 0) return { missing: `only root may make them (${stderr.trim()})` };
    spawnSync(ip.path, ["netns", "delete", name]);
    return ip;
  },
  "pseudo-terminals": () => {
    // The one of util-linux; others take other arguments.
    const { stdout } = spawnSync("sh", ["-c", "command -v script && script --version"], {
      encoding: "utf8",
    });
    const [path = "", version = ""] = stdout.trim().split("\n");
    return version.includes("util-linux") ? { path } : { missing: "they need util-linux's script" };
  },
};

/** Where a service is, or why it is missing. With CI=true, a missing one is a failure. */
export function requireService(name: string): Found {
  const found = rights[name]?.() ?? table[name] ?? { missing: "run node scripts/fetch-peers.mjs" };
  const gone = "path" in found && !existsSync(found.path);
  const answer = gone ? { missing: `${found.path} is gone` } : found;
  if ("missing" in answer && process.env.CI === "true") {
    throw new Error(`${name} is missing: ${answer.missing}`);
  }
  return answer;
}

/** The path of a service, for tests that run only if it is there. */
export function pathOf(name: string): string {
  const found = requireService(name);
  if ("missing" in found) throw new Error(`${name} is missing: ${found.missing}`);
  return found.path;
}

/** A suite that needs services; if one is missing, its tests are skipped and its title says why. */
export function describeWith(names: readonly string[], title: string, tests: () => void): void {
  const reasons = names.flatMap((name) => {
    const found = requireService(name);
    return "missing" in found ? [`${name}: ${found.missing}`] : [];
  });
  if (reasons.length === 0) describe(title, tests);
  else describe.skipIf(true)(`${title} [without ${reasons.join("; ")}]`, tests);
}
