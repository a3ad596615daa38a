// Tries every fault on every wire, and writes the matrix to docs/reliability.md: `npm run faults`, about two minutes.
// A cell is a test of test/faults/faults.test.ts.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadTypeScript } from "./load-typescript.mjs";
import { record } from "./reliability.mjs";
import { scriptOptions } from "./script-options.mjs";

scriptOptions(import.meta.url, { options: {} });

/** @type {typeof import("../test/faults/matrix.ts")} */
const matrix = await loadTypeScript(new URL("../test/faults/matrix.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "callwire-faults-"));
const file = join(folder, "report.json");
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const reporters = ["--reporter=verbose", "--reporter=json", `--outputFile.json=${file}`];
const child = spawn("npx", ["vitest", "run", "test/faults", ...reporters], {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  stdio: "inherit",
  env: { ...process.env, CALLWIRE_TESTS: "full" },
});
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) {
  process.on(signal, () => child.kill(signal));
}
const [code, signal] = await once(child, "exit");
if (signal !== null || (code !== 0 && code !== 1)) process.exit(1);

/** @type {{ testResults: { assertionResults: { ancestorTitles: string[], title: string, status: string }[] }[] }} */
const { testResults } = JSON.parse(readFileSync(file, "utf8"));
const results = testResults.flatMap(({ assertionResults }) => assertionResults);
const faults = matrix.faults.map((fault) => {
  const cells = Object.fromEntries(
    matrix.wires.map((wire) => {
      const note = matrix.impossible(fault, wire);
      if (note !== undefined) return [wire, { result: "none", note }];
      const found = results.find(
        ({ ancestorTitles, title }) => ancestorTitles.at(-1) === fault && title === wire,
      );
      const missing = { result: "not run", note: "What the test needs was missing." };
      if (found === undefined) return [wire, missing];
      const failed = { result: "FAILS", note: "The test fails." };
      return [wire, found.status === "passed" ? { result: "pass" } : failed];
    }),
  );
  return { name: fault, cells };
});
record("faults", { wires: matrix.wires, faults });
process.exitCode = code;
