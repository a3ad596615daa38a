#!/usr/bin/env node
/** The command line: finds the verb and passes it the arguments. @module */
import { inspect } from "node:util";
import { orSee, runVerb, type Verb, version } from "./command.ts";
import { connectionFlags } from "./connection-flags.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { exitAfterWriting, watchOutput } from "./process-end.ts";
import { columns, wrapped } from "./text-columns.ts";

/** Each verb is loaded on first use, so that the command starts fast. */
const table: readonly (readonly [name: string, summary: string, load: Verb["load"]])[] = [
  ["demo", "serve example methods on every wire", () => import("./commands/demo.ts")],
  ["serve", "serve the methods of a module", () => import("./commands/serve.ts")],
  ["gateway", "forward calls to other servers", () => import("./commands/gateway.ts")],
  ["call", "call a method and show its result", () => import("./commands/call.ts")],
  ["notify", "send a notification, which has no reply", () => import("./commands/notify.ts")],
  ["batch", "send several calls as one message", () => import("./commands/batch.ts")],
  ["stream", "show the items of a stream as they arrive", () => import("./commands/stream.ts")],
  ["repl", "call a server interactively", () => import("./commands/repl.ts")],
  ["bench", "load a method and measure it", () => import("./commands/bench.ts")],
  ["inspect", "probe what a server supports and rejects", () => import("./commands/inspect.ts")],
  ["top", "watch rates, errors and durations of methods", () => import("./commands/top.ts")],
  ["record", "record the messages to and from a server", () => import("./commands/record.ts")],
  ["replay", "resend a recording and compare the replies", () => import("./commands/replay.ts")],
  ["discover", "show the OpenRPC document of a server", () => import("./commands/discover.ts")],
  ["list", "list the methods of a server", () => import("./commands/list.ts")],
  ["describe", "show what a method takes and returns", () => import("./commands/describe.ts")],
  ["diff", "find changes that break callers", () => import("./commands/diff.ts")],
  ["generate", "write a typed client from OpenRPC", () => import("./commands/generate.ts")],
  ["mcp", "use the tools of an MCP server", () => import("./commands/mcp.ts")],
  ["a2a", "talk to an A2A agent", () => import("./commands/a2a.ts")],
  ["playground", "explore a server on a page", () => import("./commands/playground.ts")],
  ["conform", "check a server against the specification", () => import("./commands/conform.ts")],
  ["audit", "find missing protections, and their fixes", () => import("./commands/audit.ts")],
  ["keys", "create keys for callers", () => import("./commands/keys.ts")],
  ["completion", "print completions for a shell", () => import("./commands/completion.ts")],
];

const verbs: ReadonlyMap<string, Verb> = new Map(
  table.map(([name, summary, load]) => [name, { summary, load }]),
);

function overview(): string {
  return [
    ...wrapped("callwire: JSON-RPC for TypeScript, over every wire"),
    "",
    "Usage: callwire <command> [options]",
    "",
    "Commands:",
    ...columns([...verbs].map(([name, { summary }]) => [name, summary])),
    "",
    "Options:",
    ...columns([
      ["-h, --help", "show this help, or the help of a command"],
      ["-v, --version", "show the version"],
    ]),
    "",
    "Examples:",
    "  callwire demo --port 8000",
    "  callwire call http://localhost:8000/rpc math/add a=2 b=3",
  ].join("\n");
}

async function main([name, ...args]: string[]): Promise<void> {
  if (name === "help" && args.length > 0) return main([...args, "--help"]);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    console.log(overview());
    return;
  }
  if (name === "--version" || name === "-v") {
    console.log(version);
    return;
  }
  if (!verbs.has(name)) {
    const what = name.startsWith("-") ? "option" : "command";
    const guess = orSee(didYouMean(name, verbs.keys()), "callwire --help");
    throw new Failure(`unknown ${what} ${JSON.stringify(name)}${guess}`);
  }
  await runVerb(name, verbs, args, connectionFlags);
}

/** A bug in this program; its stack goes to standard error. */
const bug = {
  exitCode: 1,
  report: { code: "INTERNAL", message: "callwire failed unexpectedly; see standard error" },
  isReported: false,
};

watchOutput();

try {
  await main(process.argv.slice(2));
} catch (error) {
  // Imported here so that --help starts fast.
  const { printableLines } = await import("callwire");
  const text = error instanceof Failure ? error.message : inspect(error);
  console.error(`callwire: ${printableLines(text)}`);
  const { exitCode, report, isReported } = error instanceof Failure ? error : bug;
  // With --json, every failure is JSON too.
  const writesJson = process.argv.includes("--json") && !isReported;
  // A connection that is still open must not keep the process alive.
  exitAfterWriting(
    writesJson ? `${printableLines(JSON.stringify({ error: report }))}\n` : "",
    exitCode,
  );
}
