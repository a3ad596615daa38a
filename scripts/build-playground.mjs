// Builds the page of playground/ into files that the package ships.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { licencesOf } from "./licences.mjs";

const folder = fileURLToPath(new URL("../playground/", import.meta.url));

/** @param {string} outDir */
export async function buildPlayground(outDir) {
  /** @type {string[]} */
  const files = [];
  // A build that a test starts has another one, and would name the folder that it was made in.
  process.env.NODE_ENV = "production";
  await build({
    configFile: join(folder, "vite.config.ts"),
    logLevel: "warn",
    build: { outDir },
    plugins: [
      {
        name: "files of the bundle",
        generateBundle(_, bundle) {
          for (const chunk of Object.values(bundle)) {
            if (chunk.type === "chunk") files.push(...chunk.moduleIds);
          }
        },
      },
    ],
  });
  writeFileSync(join(outDir, "LICENSES.txt"), licencesOf(files));
}
