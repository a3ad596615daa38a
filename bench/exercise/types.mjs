/** Checks the types of a generated program with tsc, which runs in a process of its own. */
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const count = 500;
const perGroup = 25;
const cache = fileURLToPath(new URL("../.cache/types", import.meta.url));
const manifest = createRequire(import.meta.url).resolve("typescript/package.json");
const tsc = join(dirname(manifest), "bin/tsc");

/** `candidate` writes the two files from the places of the methods, such as `{ group: "g0", name: "m7", i: 7 }`. */
export function prepare({ name, methods, calls }) {
  const folder = join(cache, name);
  const places = Array.from({ length: count }, (_, i) => ({
    group: `g${Math.floor(i / perGroup)}`,
    name: `m${i}`,
    i,
  }));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }\n');
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({ compilerOptions, include: ["*.ts"] }),
  );
  writeFileSync(join(folder, "methods.ts"), methods(grouped(places)));
  writeFileSync(join(folder, "calls.ts"), calls(places));
  const check = () => {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [tsc, "-p", ".", "--extendedDiagnostics"],
      {
        cwd: folder,
        encoding: "utf8",
      },
    );
    if (status !== 0) throw new Error(`tsc failed: ${(stdout + stderr).slice(0, 1000)}`);
    const seconds = /^Total time:\s*([\d.]+)s$/m.exec(stdout)?.[1];
    return { calls: count, cpuMicros: Number(seconds) * 1e6 };
  };
  check();
  return check;
}

const compilerOptions = {
  noEmit: true,
  strict: true,
  skipLibCheck: true,
  module: "nodenext",
  target: "es2023",
  types: [],
  allowImportingTsExtensions: true,
};

function grouped(places) {
  const groups = new Map();
  for (const place of places) groups.set(place.group, [...(groups.get(place.group) ?? []), place]);
  return [...groups];
}
