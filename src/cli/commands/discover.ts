import { defineCommand, flag } from "../command.ts";
import { onlyArgument } from "../command-arguments.ts";
import { documentFrom } from "../document-source.ts";
import { Failure } from "../failure.ts";
import { serverOptions } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const command = defineCommand({
  usage: "<url | openrpc.json> [options]",
  options: {
    markdown: flag("print a reference in Markdown"),
    html: flag("print a reference in HTML"),
    json: flag("print JSON (the default); also for failures"),
    ...serverOptions,
  },
  examples: [
    ["callwire discover http://localhost:8000/rpc", "the document of a running server"],
    ["callwire discover http://localhost:8000/rpc --markdown > reference.md", "a reference"],
    ['callwire discover "stdio:callwire demo --stdio" --html > reference.html', "of a program"],
  ],
  async run(flags, positionals) {
    const source = onlyArgument("discover", "an address or a file", positionals);
    const formats = (["markdown", "html", "json"] as const).filter((name) => flags[name] === true);
    if (formats.length > 1) {
      const named = formats.map((name) => `--${name}`).join(" and ");
      throw new Failure(`${named} cannot be combined; choose one`);
    }
    const { htmlReference, markdownReference } = await import("callwire/openrpc");
    const document = await documentFrom(source, flags);
    const text = flags.markdown
      ? markdownReference(document)
      : flags.html
        ? htmlReference(document)
        : `${JSON.stringify(document, null, 2)}\n`;
    new Terminal(process.stdout).write(text);
  },
});
