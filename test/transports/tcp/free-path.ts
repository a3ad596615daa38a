import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "callwire-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
let paths = 0;

/** A path for a unix socket that nothing else uses. */
export function freePath(): string {
  return join(folder, `${paths++}.sock`);
}
