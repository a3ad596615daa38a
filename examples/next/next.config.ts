import { fileURLToPath } from "node:url";
import type { NextConfig } from "next";

const config: NextConfig = {
  // Loaded by Node as they are: SQLite reads its WebAssembly from its own folder.
  serverExternalPackages: ["callwire", "node-sqlite3-wasm"],
  // The board and callwire are in folders above this one. An application of its own does not need this.
  turbopack: { root: fileURLToPath(new URL("../..", import.meta.url)) },
};

export default config;
