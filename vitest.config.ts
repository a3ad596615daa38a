import { configDefaults, defineConfig, type Plugin } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { entries, root } from "./test/entries.ts";
import { isFull } from "./test/full.ts";
import { testMs, waitMs } from "./test/limits.ts";

/** What looks at the memory of its process, or listens to the whole of it, has one of its own. */
const apart = [
  "test/**/*.full.test.ts",
  "test/connection/garbage.test.ts",
  "test/framing/*.test.ts",
  "test/fuzz/*.test.ts",
  "test/mcp/server/rounds.test.ts",
  // Count the timers of their process, which the end of another test may start.
  "test/model/*.test.ts",
  "test/regressions/refused-after-it-may-have-run.test.ts",
  "test/mcp/client/server-stream.test.ts",
  "test/regressions/dropped-replies.test.ts",
  "test/regressions/kept-connections.test.ts",
  "test/security/advisories/disconnects.test.ts",
  "test/transports/nats/strangers.test.ts",
];

/** What takes long, or measures: only `npm run test:full` runs it. */
const long = isFull ? [] : ["test/**/*.full.test.ts"];

/** Folders with packages of their own, which scripts/fetch-peers.mjs installs if it can. */
const withPeers = [
  "test/browser/",
  "test/interop/",
  "test/mcp/peers/",
  "test/a2a/peers/",
  "examples/board/",
  "examples/photo/",
  "examples/next/",
].map((folder) => root + folder);

/** Suites without their packages are skipped (`describeWith`), but their files are loaded all the same. */
const missingPeers: Plugin = {
  name: "missing peers",
  enforce: "pre",
  async resolveId(source, importer, options) {
    const isPeer =
      /^[@a-z]/.test(source) && withPeers.some((folder) => importer?.startsWith(folder));
    if (!isPeer || source.startsWith("node:")) return null;
    const found = await this.resolve(source, importer, { ...options, skipSelf: true });
    return found ?? "\0missing";
  },
  load: (id) => (id === "\0missing" ? "export default undefined;" : null),
};

/** Starts with the files that take longest, since they start many processes: the last one must not be waited for. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) =>
      /\/test\/(browser|cli|examples|transports\/stdio)\/|\/dist\.test/.test(moduleId);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

export default defineConfig({
  plugins: [missingPeers],
  resolve: {
    // Tests import the package by its public names and run its sources.
    alias: entries.map(({ specifier, source }) => ({
      find: new RegExp(`^${specifier}$`),
      replacement: root + source,
    })),
  },
  test: {
    projects: [
      {
        extends: true,
        test: { name: "apart", include: apart, exclude: [...configDefaults.exclude, ...long] },
      },
      {
        extends: true,
        // To load all modules anew for each file takes as long as a tenth of the tests.
        test: {
          name: "together",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...long, ...apart],
          isolate: false,
        },
      },
    ],
    ...(process.argv.includes("--sequence.shuffle")
      ? {}
      : { sequence: { sequencer: LongestFirst } }),
    setupFiles: ["test/fixed-seed.ts", "test/fixed-cpu-time.ts"],
    pool: "forks",
    // More than a small machine has cores: many tests wait for processes, elections and timeouts.
    maxWorkers: 4,
    testTimeout: testMs,
    hookTimeout: testMs,
    expect: { poll: { timeout: waitMs, interval: 10 } },
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
