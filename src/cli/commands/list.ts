import { printable } from "callwire";
import { defineCommand, flag } from "../command.ts";
import { onlyArgument } from "../command-arguments.ts";
import { describedSource } from "../described-source.ts";
import { serverOptions } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";
import { widest } from "../text-columns.ts";

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
    const width = widest(methods.map(({ name }) => name));
    for (const { name, summary = "", "x-stream": stream, "x-upload": upload } of methods) {
      const about = [stream && "(stream)", upload && "(upload)", printable(summary)].filter(
        Boolean,
      );
      const padding = about.length === 0 ? "" : " ".repeat(Math.max(0, width - name.length) + 2);
      terminal.line(`${terminal.cyan(printable(name))}${padding}${about.join(" ")}`);
    }
  },
});
