import type { KnipConfig } from "knip";
import { entries } from "./test/entries.ts";

const config: KnipConfig = {
  entry: [
    ...entries.flatMap(({ sources }) => sources),
    "src/cli/main.ts",
    "examples/**/*.ts",
    "scripts/*.mjs",
    "test/types/**/*.test-d.ts",
  ],
  project: ["{src,test,examples}/**/*.ts", "scripts/*.mjs"],
  // scripts/test.mjs runs these by the names of their commands.
  ignoreDependencies: ["@arethetypeswrong/cli", "publint"],
  ignoreExportsUsedInFile: true,
};

export default config;
