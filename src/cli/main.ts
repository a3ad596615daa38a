#!/usr/bin/env node
/** The command line: finds the verb and passes it the arguments. @module */
import { inspect } from "node:util";
import { columns, orSee, runVerb, type Verb, version } from "./command.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { exitAfterWriting, watchOutput } from "./process-end.ts";

/** Each verb is loaded on first use, so that the command starts fast. */
const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  verb("demo", "serve example methods on every wire", () => import("./commands/demo.ts")),
  verb("serve", "serve the methods of a module", () => import("./commands/serve.ts")),
  verb(
    "gateway",
    "forward calls to other servers, on any wire",
    () => import("./commands/gateway.ts"),
  ),
  verb("call", "call a method and show its result", () => import("./commands/call.ts")),
  verb("notify", "send a notification, which has no reply", () => import("./commands/notify.ts")),
  verb("batch", "send several calls as one message", () => import("./commands/batch.ts")),
  verb("stream", "show the items of a stream as they arrive", () => import("./commands/stream.ts")),
  verb("repl", "call a server interactively", () => import("./commands/repl.ts")),
  verb("bench", "load a method and measure it", () => import("./commands/bench.ts")),
  verb(
    "inspect",
    "find out what a server supports and rejects",
    () => import("./commands/inspect.ts"),
  ),
  verb(
    "top",
    "watch the rates, errors and durations of methods",
    () => import("./commands/top.ts"),
  ),
  verb("record", "record the messages to and from a server", () => import("./commands/record.ts")),
  verb(
    "replay",
    "resend a recording and compare the replies",
    () => import("./commands/replay.ts"),
  ),
  verb("discover", "show the OpenRPC document of a server", () => import("./commands/discover.ts")),
  verb(
    "generate",
    "write a typed client from an OpenRPC document",
    () => import("./commands/generate.ts"),
  ),
  verb(
    "mcp",
    "use the tools, resources and prompts of an MCP server",
    () => import("./commands/mcp.ts"),
  ),
  verb(
    "playground",
    "open a page to explore and call any server",
    () => import("./commands/playground.ts"),
  ),
  verb(
    "conform",
    "check a server against the specification",
    () => import("./commands/conform.ts"),
  ),
  verb(
    "audit",
    "find missing protections of a server, and fixes",
    () => import("./commands/audit.ts"),
  ),
  verb("keys", "create keys for callers", () => import("./commands/keys.ts")),
]);

function verb(name: string, summary: string, load: Verb["load"]): [string, Verb] {
  return [name, { summary, load }];
}

function overview(): string {
  return [
    "callwire: JSON-RPC for TypeScript, over every wire",
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
  const verb = verbs.get(name);
  if (verb === undefined) {
    const what = name.startsWith("-") ? "option" : "command";
    const guess = orSee(didYouMean(name, verbs.keys()), "callwire --help");
    throw new Failure(`unknown ${what} ${JSON.stringify(name)}${guess}`);
  }
  await runVerb(name, verb, args);
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
