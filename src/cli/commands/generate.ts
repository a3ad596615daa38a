import { extname } from "node:path";
import { command } from "../command.ts";
import { documentFrom } from "../document-source.ts";
import { Failure } from "../failure.ts";
import { mustBeWritable, writeOutput } from "../output-file.ts";
import { serverOptions } from "../server-options.ts";
import { notice, Terminal } from "../terminal.ts";

export const generate = command({
  usage: "<url | openrpc.json> [options]",
  options: {
    output: { type: "string", short: "o", value: "file", description: "write to this file" },
    lang: {
      type: "string",
      value: "language",
      description: "ts or python (default: by the end of the file's name; ts without a file)",
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
    const language = languageOf(flags.lang, output);
    if (output !== undefined) await mustBeWritable(output);
    const { pythonClient, typescriptClient } = await import("callwire/openrpc");
    const document = await documentFrom(source, flags);
    const text = language === "python" ? pythonClient(document) : typescriptClient(document);
    if (output === undefined) {
      new Terminal(process.stdout).write(text);
      return;
    }
    await writeOutput(output, text);
    const { length } = document.methods;
    const many = length === 1 ? "1 method" : `${length} methods`;
    notice(`wrote ${output}, a client in ${names[language]} for ${many}`);
  },
});

const names = { ts: "TypeScript", python: "Python" } as const;

type Language = keyof typeof names;

const extensions: Readonly<Record<string, Language>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".py": "python",
};

/** The one that is named, or that of the file; nothing is guessed of a file that tells no language. */
function languageOf(named: string | undefined, output: string | undefined): Language {
  if (named !== undefined) {
    if (Object.hasOwn(names, named)) return named as Language;
    throw new Failure(`--lang is ${Object.keys(names).join(" or ")}, not ${JSON.stringify(named)}`);
  }
  if (output === undefined) return "ts";
  const extension = extname(output);
  const language = Object.hasOwn(extensions, extension) ? extensions[extension] : undefined;
  if (language !== undefined) return language;
  const known = Object.keys(extensions).join(", ");
  throw new Failure(
    `${output} tells no language: files end in ${known}, or --lang says which it is`,
  );
}
