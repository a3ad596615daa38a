/** The command line: finds the verb and hands it the rest. @module */
import { type Command, columns, runCommand } from "./command.ts";
import { conform } from "./commands/conform.ts";
import { demo } from "./commands/demo.ts";
import { discover } from "./commands/discover.ts";
import { generate } from "./commands/generate.ts";
import { playground } from "./commands/playground.ts";
import { serve } from "./commands/serve.ts";
import { Failure } from "./failure.ts";
import { version } from "./version.ts";

const commands: ReadonlyMap<string, Command> = new Map([
  ["demo", demo],
  ["serve", serve],
  ["discover", discover],
  ["generate", generate],
  ["playground", playground],
  ["conform", conform],
]);

const overview = [
  "callwire: JSON-RPC for TypeScript, over every wire",
  "",
  "Usage: callwire <command> [options]",
  "",
  "Commands:",
  ...columns([...commands].map(([verb, { summary }]) => [verb, summary])),
  "",
  "Options:",
  ...columns([
    ["-h, --help", "show this; after a command, show how it is used"],
    ["-v, --version", "show the version"],
  ]),
  "",
  "Example:",
  "  callwire demo --port 8000",
].join("\n");

async function main([verb, ...args]: string[]): Promise<void> {
  if (verb === undefined || verb === "--help" || verb === "-h" || verb === "help") {
    console.log(overview);
    return;
  }
  if (verb === "--version" || verb === "-v") {
    console.log(version);
    return;
  }
  const command = commands.get(verb);
  if (command === undefined) {
    const what = verb.startsWith("-") ? "option" : "command";
    throw new Failure(`there is no ${what} ${JSON.stringify(verb)}; see "callwire --help"`);
  }
  await runCommand(verb, command, args);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  if (error instanceof Failure) console.error(`callwire: ${error.message}`);
  else console.error("callwire:", error);
  // A wire that was opened before the failure must not keep the process.
  process.exit(error instanceof Failure ? error.exitCode : 1);
}
