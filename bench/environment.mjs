/** What the numbers depend on besides the code. */
import { readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { pinning } from "./processes.mjs";

export function environment() {
  return {
    date: new Date().toISOString().slice(0, 10),
    node: `Node ${process.versions.node}`,
    cpu: `${cpus().length} × ${cpus()[0]?.model.trim() ?? "unknown processor"}`,
    pinning,
    loadAverage: loadavg()[0].toFixed(2),
    versions: peerVersions(),
  };
}

function peerVersions() {
  const { dependencies } = JSON.parse(readFileSync(new URL("package.json", import.meta.url)));
  const versions = Object.entries(dependencies).filter(
    ([, version]) => !version.startsWith("file:"),
  );
  return Object.fromEntries(versions);
}
