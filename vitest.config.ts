import { defineConfig } from "vitest/config";
import { entries, root } from "./test/entries.ts";

export default defineConfig({
  resolve: {
    // Tests import the package by its public names and run its sources.
    alias: entries.map(({ specifier, source }) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: root + source,
    })),
  },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    // More than a small machine has cores: many tests wait for processes, elections and time-outs.
    maxWorkers: 3,
    // What is waited for may take long on a busy machine; only what never comes reaches these limits.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 50_000, interval: 10 } },
    coverage: {
      provider: "v8",
      include: ["src/**/*.ts"],
      // The command line runs in processes of its own, where coverage is not collected.
      exclude: ["src/cli/**"],
      reporter: ["text", "html", "lcov"],
      reportOnFailure: true,
    },
  },
});
