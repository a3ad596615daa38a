#!/usr/bin/env node
/** The command line: finds the verb and hands it the rest. @module */
import { inspect } from "node:util";
import { columns, orSee, runVerb, type Verb, version } from "./command.ts";
import { Failure } from "./failure.ts";
import { didYouMean } from "./nearest.ts";
import { endAfter, watchOutput } from "./process-end.ts";

/** Each verb is loaded when it is asked for, so that the command starts at once. */
const verbs: ReadonlyMap<string, Verb> = new Map<string, Verb>([
  [
    "demo",
    {
      summary: "serve example methods on every wire",
      load: async () => (await import("./commands/demo.ts")).demo,
    },
  ],
  [
    "serve",
    {
      summary: "serve the methods of a module",
      load: async () => (await import("./commands/serve.ts")).serve,
    },
  ],
  [
    "gateway",
    {
      summary: "send calls on to other servers, on any wire",
      load: async () => (await import("./commands/gateway.ts")).gateway,
    },
  ],
  [
    "call",
    {
      summary: "call a method and show its result",
      load: async () => (await import("./commands/call.ts")).call,
    },
  ],
  [
    "notify",
    {
      summary: "send a notification, which nobody answers",
      load: async () => (await import("./commands/notify.ts")).notify,
    },
  ],
  [
    "batch",
    {
      summary: "send several calls as one message",
      load: async () => (await import("./commands/batch.ts")).batch,
    },
  ],
  [
    "stream",
    {
      summary: "show the items of a stream as they come",
      load: async () => (await import("./commands/stream.ts")).stream,
    },
  ],
  [
    "repl",
    {
      summary: "talk to a server line by line",
      load: async () => (await import("./commands/repl.ts")).repl,
    },
  ],
  [
    "bench",
    {
      summary: "put load on a method and measure it",
      load: async () => (await import("./commands/bench.ts")).bench,
    },
  ],
  [
    "inspect",
    {
      summary: "find out what a server speaks, offers and refuses",
      load: async () => (await import("./commands/inspect.ts")).inspect,
    },
  ],
  [
    "top",
    {
      summary: "watch a server's methods: rates, errors and durations",
      load: async () => (await import("./commands/top.ts")).top,
    },
  ],
  [
    "record",
    {
      summary: "stand before a server and write down what is said",
      load: async () => (await import("./commands/record.ts")).record,
    },
  ],
  [
    "replay",
    {
      summary: "send a recording again and compare the replies",
      load: async () => (await import("./commands/replay.ts")).replay,
    },
  ],
  [
    "discover",
    {
      summary: "show what a server offers, as its OpenRPC document",
      load: async () => (await import("./commands/discover.ts")).discover,
    },
  ],
  [
    "generate",
    {
      summary: "write a typed client for any server with OpenRPC",
      load: async () => (await import("./commands/generate.ts")).generate,
    },
  ],
  [
    "mcp",
    {
      summary: "use the tools, resources and prompts of an MCP server",
      load: async () => (await import("./commands/mcp.ts")).mcp,
    },
  ],
  [
    "playground",
    {
      summary: "open a page to see, try and watch a server, also one of another make",
      load: async () => (await import("./commands/playground.ts")).playground,
    },
  ],
  [
    "conform",
    {
      summary: "find out whether a server keeps to the specification",
      load: async () => (await import("./commands/conform.ts")).conform,
    },
  ],
  [
    "audit",
    {
      summary: "say what a server lacks to be safe, and how to mend it",
      load: async () => (await import("./commands/audit.ts")).audit,
    },
  ],
  [
    "keys",
    {
      summary: "make keys for callers",
      load: async () => (await import("./commands/keys.ts")).keys,
    },
  ],
]);

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
      ["-h, --help", "show this; after a command, show how it is used"],
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
    throw new Failure(
      `there is no ${what} ${JSON.stringify(name)}${orSee(didYouMean(name, verbs.keys()), "callwire --help")}`,
    );
  }
  await runVerb(name, verb, args);
}

/** A fault of this program, whose stack is on standard error. */
const unforeseen = {
  exitCode: 1,
  report: { code: "INTERNAL", message: "this program failed; see standard error" },
  isTold: false,
};

watchOutput();

try {
  await main(process.argv.slice(2));
} catch (error) {
  // Loaded here, so that a command that is only asked for its help starts at once.
  const { printableLines } = await import("callwire");
  const told = error instanceof Failure ? error.message : inspect(error);
  console.error(`callwire: ${printableLines(told)}`);
  const { exitCode, report, isTold } = error instanceof Failure ? error : unforeseen;
  // Scripts that asked for JSON get JSON, whatever happens.
  const isAsked = process.argv.includes("--json") && !isTold;
  // A wire that was opened before the failure must not keep the process.
  endAfter(isAsked ? `${printableLines(JSON.stringify({ error: report }))}\n` : "", exitCode);
}
