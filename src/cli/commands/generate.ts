import { writeFile } from "node:fs/promises";
import { command } from "../command.ts";
import { documentFrom } from "../document-source.ts";
import { Failure, oneLine } from "../failure.ts";
import { serverOptions } from "../server-options.ts";

const languages = ["ts", "python"];

export const generate = command({
  usage: "<url | openrpc.json> [options]",
  options: {
    output: { type: "string", short: "o", value: "file", description: "write to this file" },
    lang: {
      type: "string",
      value: "language",
      description: "ts or python (default: by the file's name, else ts)",
    },
    ...serverOptions,
  },
  examples: [
    ["callwire generate http://localhost:8000/rpc -o client.ts", "a client in TypeScript"],
    ["callwire generate openrpc.json -o client.py", "a client in Python, from a document"],
  ],
  async run(flags, positionals) {
    const [source, extra] = positionals;
    if (source === undefined)
      throw new Failure('generate needs an address; see "callwire generate --help"');
    if (extra !== undefined)
      throw new Failure(`generate takes one address, not ${JSON.stringify(extra)} too`);
    const { output } = flags;
    const lang = flags.lang ?? (output?.endsWith(".py") ? "python" : "ts");
    if (!languages.includes(lang)) {
      throw new Failure(`--lang is ${languages.join(" or ")}, not ${JSON.stringify(lang)}`);
    }
    const { pythonClient, typescriptClient } = await import("callwire/openrpc");
    const document = await documentFrom(source, flags);
    const text = lang === "python" ? pythonClient(document) : typescriptClient(document);
    if (output === undefined) {
      process.stdout.write(text);
      return;
    }
    try {
      await writeFile(output, text);
    } catch (error) {
      throw new Failure(`${output} cannot be written: ${oneLine(error)}`, { cause: error });
    }
  },
});
