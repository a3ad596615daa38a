import type { KnipConfig } from "knip";
import board from "./examples/board/package.json" with { type: "json" };
import next from "./examples/next/package.json" with { type: "json" };
import photo from "./examples/photo/package.json" with { type: "json" };
import tracing from "./examples/tracing/package.json" with { type: "json" };
import vue from "./examples/vue/package.json" with { type: "json" };
import a2a from "./test/a2a/peers/package.json" with { type: "json" };
import browser from "./test/browser/package.json" with { type: "json" };
import { entries } from "./test/entries.ts";
import interop from "./test/interop/package.json" with { type: "json" };
import mcp from "./test/mcp/peers/package.json" with { type: "json" };

/** scripts/fetch-peers.mjs installs these where they are used. */
const installedElsewhere = Object.keys({
  ...browser.dependencies,
  ...interop.dependencies,
  ...mcp.dependencies,
  ...a2a.dependencies,
  ...tracing.dependencies,
  ...board.dependencies,
  ...photo.dependencies,
  ...next.dependencies,
  ...vue.dependencies,
});

/** Read as a file, run as programs, or imported only by fixtures in JavaScript. */
const neverImported = [
  "axe-core",
  "conformance-2025",
  "conformance-2026",
  "@langchain/core",
  "@langchain/langgraph",
  "@modelcontextprotocol/core",
  "@modelcontextprotocol/inspector-cli",
  "@modelcontextprotocol/server",
  "@modelcontextprotocol/server-everything",
  "@modelcontextprotocol/server-filesystem",
  "@modelcontextprotocol/server-github",
  "@modelcontextprotocol/server-memory",
  "@modelcontextprotocol/server-sequential-thinking",
  "mcp-server-commands",
  "typescript-language-server",
  "typescript",
  "@types/pg",
];

/** Dependencies of this package too, and this package. */
const knownHere = ["@opentelemetry/api", "callwire", "typescript", "zod"];

const config: KnipConfig = {
  workspaces: {
    ".": {
      entry: [
        ...entries.flatMap(({ sources }) => sources),
        "src/cli/main.ts",
        "examples/**/*.{ts,tsx}",
        "scripts/*.mjs",
        "test/types/**/*.test-d.ts",
        // A test starts it as a process of its own.
        "test/a2a/peers/working-process.ts",
      ],
      project: ["{src,test,examples}/**/*.{ts,tsx}", "scripts/*.mjs"],
    },
    playground: { project: ["src/**/*.{ts,tsx}"] },
  },
  ignoreDependencies: [
    // scripts/test.mjs runs these by the names of their commands.
    "@arethetypeswrong/cli",
    "publint",
    ...installedElsewhere.filter((name) => ![...neverImported, ...knownHere].includes(name)),
  ],
  // The examples with NATS start it themselves; Prometheus draws pictures for the docs.
  ignoreBinaries: ["nats-server", "prometheus", "systemd-analyze"],
  ignoreExportsUsedInFile: true,
};

export default config;
