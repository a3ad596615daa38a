import { printable } from "callwire";
import { defineCommand, flag } from "../command.ts";
import { onlyArgument } from "../command-arguments.ts";
import { describedSource } from "../described-source.ts";
import { serverOptions } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";
import { showColumns } from "../text-columns.ts";

export const command = defineCommand({
  usage: "<url | openrpc.json> [options]",
  about: "Asks rpc.discover, or the tools of an MCP server.",
  options: { ...serverOptions, json: flag("print the names as JSON on one line") },
  examples: [
    ["callwire list http://localhost:8000/rpc", "the methods of a server"],
    ["callwire list http://localhost:8000/mcp", "the tools of an MCP server"],
    ["callwire list ./openrpc.json --json", "the methods of a document, for scripts"],
  ],
  async run(flags, positionals) {
    const { methods } = await describedSource(
      onlyArgument("list", "an address", positionals),
      flags,
    );
    const terminal = new Terminal(process.stdout);
    if (flags.json) {
      terminal.line(jsonLine(methods.map(({ name }) => name)));
      return;
    }
    const rows = methods.map(
      ({ name, summary = "", "x-stream": stream, "x-upload": upload }) =>
        [printable(name), markedAs({ stream, upload }, printable(summary))] as const,
    );
    showColumns(rows, terminal, { paint: terminal.cyan, indent: "" });
  },
});

function markedAs(marks: Readonly<Record<string, unknown>>, summary: string): string {
  const names = Object.keys(marks).filter((name) => marks[name]);
  return [...names.map((name) => `(${name})`), summary].join(" ");
}
