import { markdownReference, type OpenrpcDocument, type OpenrpcMethod } from "callwire/openrpc";
import { defineCommand, flag } from "../command.ts";
import { describedSource } from "../described-source.ts";
import { Failure } from "../failure.ts";
import { markdownText } from "../markdown-text.ts";
import { didYouMean } from "../nearest.ts";
import { serverOptions } from "../server-options.ts";
import { jsonLine, Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url | openrpc.json> <method> [options]",
  about: "Asks rpc.discover, or the tools of an MCP server.",
  options: { ...serverOptions, json: flag("print its OpenRPC description on one line") },
  examples: [
    ["callwire describe http://localhost:8000/rpc math/sqrt", "params, result, errors, examples"],
    ["callwire describe ./openrpc.json add --json", "of a document, for scripts"],
  ],
  async run(flags, positionals) {
    const [source, name, extra] = positionals;
    if (source === undefined || name === undefined || extra !== undefined)
      throw new Failure('describe needs an address and a method; see "callwire describe --help"');
    const document = await describedSource(source, flags);
    const method = document.methods.find((each) => each.name === name);
    if (method === undefined) {
      const guess = didYouMean(
        name,
        document.methods.map((each) => each.name),
      );
      throw new Failure(`${source} has no method ${JSON.stringify(name)}${guess}`, { exitCode: 1 });
    }
    const terminal = new Terminal(process.stdout);
    terminal.write(flags.json ? `${jsonLine(method)}\n` : sectionOf(document, method));
  },
});

/** The section of the method in the Markdown reference, with the types that it uses. */
function sectionOf(document: OpenrpcDocument, method: OpenrpcMethod): string {
  const text = markdownReference({ ...document, methods: [method] });
  const [, section = ""] = text.split(/\n(?=### )/);
  const [own = "", types = ""] = section.split(/\n(?=## Types\n)/);
  // Declarations that nothing in the section names are left out.
  const used = types.split(/\n\n(?=interface |type |\/\*\*)/).filter((declaration) => {
    const [, name = ""] = /^(?:interface|type) ([\w$]+)/m.exec(declaration) ?? [];
    return name !== "" && new RegExp(`\\b${name}\\b`).test(own);
  });
  const shown = used.map((declaration) => declaration.replace(/^[\s\S]*?```ts\n|\n```\s*$/g, ""));
  return [markdownText(own).trimEnd(), ...shown].join("\n\n").concat("\n");
}
