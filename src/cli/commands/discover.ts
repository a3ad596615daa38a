import { command } from "../command.ts";
import { documentFrom } from "../document-source.ts";
import { Failure } from "../failure.ts";
import { serverOptions } from "../server-options.ts";
import { Terminal } from "../terminal.ts";

export const discover = command({
  usage: "<url | openrpc.json> [options]",
  options: {
    markdown: { type: "boolean", description: "as reference docs in Markdown" },
    html: { type: "boolean", description: "as a page" },
    json: { type: "boolean", description: "as JSON, which it is already" },
    ...serverOptions,
  },
  examples: [
    ["callwire discover http://localhost:8000/rpc", "the document of a running server"],
    ["callwire discover http://localhost:8000/rpc --markdown > reference.md", "as reference docs"],
    ['callwire discover "stdio:callwire demo --stdio" --html > reference.html', "of a program"],
  ],
  async run(flags, positionals) {
    const [source, extra] = positionals;
    if (source === undefined)
      throw new Failure('discover needs an address; see "callwire discover --help"');
    if (extra !== undefined)
      throw new Failure(`discover takes one address, not ${JSON.stringify(extra)} too`);
    const forms = (["markdown", "html", "json"] as const).filter((form) => flags[form] === true);
    if (forms.length > 1) {
      const named = forms.map((form) => `--${form}`).join(" or ");
      throw new Failure(`discover shows ${named}, not ${forms.length === 2 ? "both" : "all"}`);
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
